// One browser or phone: its facts, how its state changed, and what it got.
import { Button, Modal } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { deviceCan } from '../api/can.ts';
import { call } from '../api/client.ts';
import type { Device } from '../api/objects.ts';
import { queryClient, queryOf, refresh, whole } from '../api/queries.ts';
import { useAppId, useMay } from '../api/session.ts';
import { ConfirmButton } from '../components/confirm.tsx';
import { DeliveryHistory } from '../components/delivery-history.tsx';
import { Explain } from '../components/explain.tsx';
import { Loaded } from '../components/loaded.tsx';
import { NotAllowed } from '../components/not-allowed.tsx';
import { tellSaved } from '../components/saved-text.ts';
import { markOf, Status, toneOf } from '../components/status.tsx';
import { codeTitle } from '../failure-codes.ts';
import { channelNames, platformNames } from '../format.ts';
import { DeviceForm } from '../forms/device.tsx';
import { paths } from '../paths.ts';
import { Card, Facts } from '../ui/card.tsx';
import { CopyableId } from '../ui/copy.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import { Mark } from '../ui/state.tsx';

export function DevicePage() {
  const app = useAppId();
  const { device = '' } = useParams();
  const { may, reason } = useMay('device.read');
  const query = useQuery({ ...queryOf('getDevice', { app, id: device }), enabled: may });
  if (!may) return <NotAllowed what="Device" reason={reason} />;
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

const invalidReasons: Readonly<Record<string, string>> = {
  replaced: 'Another device of the app registered with its token.',
};

function tellReason(reason: string | null): string {
  if (reason === null) return '';
  return invalidReasons[reason] ?? `${codeTitle(reason)}.`;
}

function tellDevice({ status, status_reason, channel }: Device): string {
  if (status === 'active') return `Reachable by ${channelNames[channel].toLowerCase()}.`;
  if (status === 'unsubscribed') return 'It opted out. It can come back only by subscribing again.';
  return `No longer reachable. ${tellReason(status_reason)}`;
}

/** The time from which an edit has an effect. */
function tellEffect({ status }: Device): string {
  if (status === 'active') return 'Messages that are sent from now on use it.';
  return 'The device gets no message until it registers again.';
}

/** Only facts that the device reported are shown, because the others would be lines of dashes. */
function known(facts: readonly (readonly [name: string, value: string | null])[]) {
  return facts.filter(([, value]) => value);
}

/**
 * The key or account by which the device is reached: a browser's own, or the current one of a
 * phone's channel.
 */
function CredentialOf({ app, device }: { app: string; device: Device }) {
  const channels = useQuery(queryOf('listChannels', { app, ...whole })).data?.data;
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

function factsOf(app: string, device: Device) {
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

function History({ device: { history, created_at } }: { device: Device }) {
  return (
    <Card title="History">
      <ol className="steps">
        {history.toReversed().map(({ at, status, reason }) => (
          <li className="step" key={at + status}>
            <Mark tone={toneOf(status)} mark={markOf(status)} />
            <Status status={status} />{' '}
            <span className="muted">
              <RelativeTime at={at} />
            </span>
            {reason !== null && <p style={{ margin: '2px 0 0' }}>{tellReason(reason)}</p>}
          </li>
        ))}
        {history.length === 0 && (
          <li className="step">
            <Mark tone="idle" mark="none" />
            Registered{' '}
            <span className="muted">
              <RelativeTime at={created_at} />
            </span>
          </li>
        )}
      </ol>
    </Card>
  );
}

function Actions({ app, device }: { app: string; device: Device }) {
  const canTest = useMay('channel.edit');
  const canRemove = useMay('device.delete');
  const test = async () => {
    await call('testChannel', { app, channel: device.channel, body: { device_id: device.id } });
    notifications.show({ message: 'The test is on its way. It counts as one delivery.' });
    await refresh('explain', { app });
  };
  const remove = async () => {
    await call('optOutDevice', { app, id: device.id });
    await refresh(['getDevice', 'listDeviceDeliveries'], { app, id: device.id });
    notifications.show({ message: 'The device is opted out.' });
  };
  return (
    <>
      <Edit app={app} device={device} />
      {canTest.may && deviceCan(device.status, 'test') && (
        <ConfirmButton
          label="Send a test"
          title="Send a test to this device?"
          effect="The device rings with a short text. The test goes the way of every message and counts as one delivery."
          run={test}
        />
      )}
      {canRemove.may && deviceCan(device.status, 'remove') && (
        <ConfirmButton
          label="Opt out"
          title="Opt this device out?"
          effect="It gets no further message, its token is erased, and it no longer belongs to its user. Only the device itself can subscribe again."
          isDestructive
          run={remove}
        />
      )}
    </>
  );
}

function Edit({ app, device }: { app: string; device: Device }) {
  const { may } = useMay('device.edit');
  const [isOpen, { open, close }] = useDisclosure(false);
  const canOpen = may && deviceCan(device.status, 'edit');
  // An open form stays when the device opts out, so that typed text does not vanish without a
  // reason.
  if (!canOpen && !isOpen) return null;
  return (
    <>
      {canOpen && (
        <Button variant="default" onClick={open}>
          Edit
        </Button>
      )}
      <Modal opened={isOpen} onClose={close} title="Edit the device" closeButtonProps={{ 'aria-label': 'Close' }}>
        <DeviceForm
          app={app}
          device={device}
          onCancel={close}
          onSaved={async ({ property_conflicts: conflicts, ...after }) => {
            close();
            queryClient.setQueryData(queryOf('getDevice', { app, id: device.id }).queryKey, after);
            notifications.show(tellSaved(conflicts, tellEffect(after)));
            await refresh('listDevices', { app });
          }}
        />
      </Modal>
    </>
  );
}
