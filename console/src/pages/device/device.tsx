// One browser or phone: its facts, how its state changed, and what it got.

import { Link, useParams } from 'react-router';
import type { Device } from '../../api/objects.ts';
import { useAnswer } from '../../api/queries.ts';
import { useAppId } from '../../api/session.ts';
import { DeliveryHistory } from '../../components/delivery-history.tsx';
import { Explain } from '../../components/explain.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Status } from '../../components/status.tsx';
import { channelNames, platformNames } from '../../format.ts';
import { paths } from '../../paths.ts';
import { Card, Facts } from '../../ui/card.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Actions } from './actions.tsx';
import { factsOf } from './facts.tsx';
import { History, tellReason } from './history.tsx';

export function DevicePage() {
  const app = useAppId();
  const { device = '' } = useParams();
  const query = useAnswer('getDevice', { app, id: device });
  return (
    <Loaded query={query}>
      {(data) => (
        <>
          <PageHead
            above={<Link to={paths.devices(app)}>Devices</Link>}
            title={
              <>
                {data.model ?? data.os ?? `${platformNames[data.platform]} device`} <Status status={data.status} />
              </>
            }
            answer={tellDevice(data)}
            actions={<Actions app={app} device={data} />}
          />
          <div className="stack">
            <div className="grid-2">
              <Card title="Facts">
                <Facts facts={factsOf(app, data)} />
              </Card>
              <History device={data} />
            </div>
            <Explain question={{ app, device_id: data.id }} />
            <Card title="Deliveries" isFlush>
              <DeliveryHistory app={app} of={{ device: data.id }} />
            </Card>
          </div>
        </>
      )}
    </Loaded>
  );
}

function tellDevice({ status, status_reason, channel }: Device): string {
  if (status === 'active') return `Reachable by ${channelNames[channel].toLowerCase()}.`;
  if (status === 'unsubscribed') return 'It opted out. It can come back only by subscribing again.';
  return `No longer reachable. ${tellReason(status_reason)}`;
}
