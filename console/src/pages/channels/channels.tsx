// The ways to reach devices: whether each works, its credential, and a test.

import { useQuery } from '@tanstack/react-query';
import { queryOf, whole } from '../../api/queries.ts';
import { useAppId } from '../../api/session.ts';
import { Loaded } from '../../components/loaded.tsx';
import { ChannelCard } from './channel-card.tsx';

const ids = ['webpush', 'apns', 'fcm'] as const;

export function Channels() {
  const app = useAppId();
  const channels = useQuery(queryOf('listChannels', { app, ...whole }));
  return (
    <Loaded query={channels}>
      {({ data }) =>
        ids.map((id) => (
          <ChannelCard
            key={id}
            app={app}
            id={id}
            channel={data.find(({ channel, current }) => channel === id && current)}
          />
        ))
      }
    </Loaded>
  );
}
