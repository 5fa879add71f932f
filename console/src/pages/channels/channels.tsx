// The ways to reach devices: whether each works, its credential, and a test.

import { useAnswer, whole } from '../../api/queries.ts';
import { useAppId } from '../../api/session.ts';
import { Loaded } from '../../components/loaded.tsx';
import { channels } from '../../format.ts';
import { ChannelCard } from './channel-card.tsx';

export function Channels() {
  const app = useAppId();
  const listed = useAnswer('listChannels', { app, ...whole });
  return (
    <Loaded query={listed}>
      {({ data }) =>
        channels.map((id) => (
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
