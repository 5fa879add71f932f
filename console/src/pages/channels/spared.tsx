// The devices that a suspect credential would have cost.

import { Link } from 'react-router';
import type { ChannelName } from '../../api/objects.ts';
import { useAnswer } from '../../api/queries.ts';
import { useMay } from '../../api/session.ts';
import { codeTitle } from '../../failure-codes.ts';
import { channelNames, count } from '../../format.ts';
import { paths } from '../../paths.ts';

/** The number of names that are shown, because a wrong key may concern a whole audience. */
const sparedShown = 10;

/** The devices that a suspect credential would have cost. */
export function Spared({ app, id }: { app: string; id: ChannelName }) {
  const { may } = useMay('device.read');
  const { data: devices = [], has_more: hasMore } =
    useAnswer('listSparedDevices', { app, channel: id }, { enabled: may }).data ?? {};
  if (devices.length === 0) return null;
  const [newest] = devices;
  const codes = [...new Set(devices.map(({ error_code }) => error_code))];
  return (
    <div style={{ margin: '0 0 12px' }}>
      <p style={{ margin: '0 0 4px' }}>
        {hasMore ? `At least ${count(devices.length, 'device')}` : count(devices.length, 'device')} would have been
        retired for its refusals ({codes.map((code) => codeTitle(code).toLowerCase()).join(', ')}), and{' '}
        {devices.length === 1 ? 'is' : 'are'} kept:
      </p>
      <ul className="plain-list" aria-label={`Kept devices of ${channelNames[id].toLowerCase()}`}>
        {devices.slice(0, sparedShown).map(({ device_id, message_id }) => (
          <li key={device_id}>
            <Link className="mono" to={paths.device(app, device_id)}>
              {device_id}
            </Link>{' '}
            <Link to={paths.delivery(app, message_id, device_id)}>Its answer</Link>
          </li>
        ))}
      </ul>
      {newest && devices.length > sparedShown && (
        <Link to={`${paths.message(app, newest.message_id)}?code=${newest.error_code}#deliveries`}>
          See them among the deliveries of the last message
        </Link>
      )}
    </div>
  );
}
