// The facts of a device, with the credential that reaches it.

import { Link } from 'react-router';
import type { Device } from '../../api/objects.ts';
import { useAnswer, whole } from '../../api/queries.ts';
import { Status } from '../../components/status.tsx';
import { channelNames, platformNames } from '../../format.ts';
import { paths } from '../../paths.ts';
import { CopyableId } from '../../ui/copy.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';

/** Only facts that the device reported are shown, because the others would be lines of dashes. */
function known(facts: readonly (readonly [name: string, value: string | null])[]) {
  return facts.filter(([, value]) => value);
}

/**
 * The key or account by which the device is reached: a browser's own, or the current one of a
 * phone's channel.
 */
function CredentialOf({ app, device }: { app: string; device: Device }) {
  const channels = useAnswer('listChannels', { app, ...whole }).data?.data;
  const ofChannel = channels?.filter(({ channel }) => channel === device.channel) ?? [];
  const current = ofChannel.find((each) => each.current);
  const found = ofChannel.find((each) => each.credential_id === device.credential_id) ?? current;
  if (channels === undefined) return null;
  if (found === undefined) return <Link to={paths.channels(app)}>None: set the channel up</Link>;
  const { public_key: key, key_id: keyId, project_id: project } = found.public;
  return (
    <>
      <Link to={paths.channels(app)}>
        <span className="mono">{(key && `${key.slice(0, 12)}…`) ?? keyId ?? project}</span>
      </Link>{' '}
      <Status status={found.health} /> {!found.current && <span className="muted">a former key of this channel</span>}
    </>
  );
}

export function factsOf(app: string, device: Device) {
  const own = Object.entries(device.properties);
  return [
    ['Id', <CopyableId key="id" id={device.id} />],
    [
      'User',
      device.external_id === null ? null : (
        <Link key="u" to={paths.user(app, device.external_id)}>
          {device.external_id}
        </Link>
      ),
    ],
    ['Platform', `${platformNames[device.platform]}, reached by ${channelNames[device.channel].toLowerCase()}`],
    [
      'Token',
      device.token_hint && (
        <span key="t" className="mono">
          {device.token_hint}
        </span>
      ),
    ],
    ['Credential', <CredentialOf key="k" app={app} device={device} />],
    ...known([
      ['Model', device.model],
      ['System', [device.os, device.os_version].filter(Boolean).join(' ')],
      ['App version', device.app_version],
      ['SDK', device.sdk],
      ['Locale', device.locale],
      ['Time zone', device.timezone],
    ]),
    ...(device.platform === 'ios' ? [['Environment', device.environment] as const] : []),
    ['Registered', <RelativeTime key="c" at={device.created_at} />],
    ['Last seen', <RelativeTime key="s" at={device.last_seen_at} />],
    ...own.map(
      ([key, value]) =>
        [
          key,
          <span key={key} className="mono">
            {String(value)}
          </span>,
        ] as const,
    ),
  ] as const;
}
