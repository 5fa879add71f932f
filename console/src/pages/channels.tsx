// The ways to reach devices: whether each works, its credential, and a test.
import { Button, Modal, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { call } from '../api/client.ts';
import type { ChannelName, ChannelTestResult, Credential } from '../api/objects.ts';
import { queryOf, refresh, whole } from '../api/queries.ts';
import { useAppId, useMay } from '../api/session.ts';
import { ConfirmButton } from '../components/confirm.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Status } from '../components/status.tsx';
import { codeTitle } from '../failure-codes.ts';
import { channelNames, count } from '../format.ts';
import { ApnsForm } from '../forms/apns.tsx';
import { FcmForm } from '../forms/fcm.tsx';
import { WebpushForm } from '../forms/webpush.tsx';
import { paths } from '../paths.ts';
import { Card, Facts } from '../ui/card.tsx';
import { CopyableId } from '../ui/copy.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';

const platforms: Readonly<Record<ChannelName, { readonly reaches: string; readonly needs: string }>> = {
  webpush: {
    reaches: 'Browsers: Chrome, Edge, Firefox, Safari',
    needs: 'Needs only a contact address; Carillon makes the keys.',
  },
  apns: {
    reaches: 'iPhones, iPads and Macs with your app',
    needs: 'Needs a signing key (.p8) of your Apple developer account.',
  },
  fcm: { reaches: 'Android phones with your app', needs: 'Needs a service account of your Firebase project.' },
};
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

/** A channel also decides whether its app is a test. */
async function refreshApp(app: string): Promise<void> {
  await refresh(['listChannels', 'listSparedDevices', 'getApp'], { app });
  await refresh('listApps');
}

function ChannelCard({ app, id, channel }: { app: string; id: ChannelName; channel: Credential | undefined }) {
  const { may, reason } = useMay('channel.edit');
  const [opened, setOpened] = useState<{ readonly present: Credential | undefined }>();
  const open = () => setOpened({ present: channel });
  const close = () => setOpened(undefined);
  const saved = async () => {
    close();
    notifications.show({ message: `${channelNames[id]} is set up.` });
    await refreshApp(app);
  };
  const remove = async () => {
    await call('removeChannel', { app, channel: id });
    await refreshApp(app);
  };
  const Form = { webpush: WebpushForm, apns: ApnsForm, fcm: FcmForm }[id];
  return (
    <Card
      title={channelNames[id]}
      actions={
        may ? (
          <div className="row-actions">
            {channel && <TestButton app={app} id={id} />}
            <Button variant={channel ? 'default' : 'filled'} onClick={open}>
              {channel ? 'Replace' : 'Set up'}
            </Button>
            {channel && (
              <ConfirmButton
                label="Remove"
                title={`Remove ${channelNames[id].toLowerCase()}?`}
                effect="Deliveries on this channel are skipped from then on. Devices stay; a credential that they know can be set again."
                isDestructive
                run={remove}
              />
            )}
          </div>
        ) : (
          <span className="muted" style={{ fontSize: 13 }}>
            {reason}
          </span>
        )
      }
    >
      {channel ? (
        <>
          <p style={{ margin: '0 0 12px' }}>
            <Status status={channel.health} /> {tellHealth(channel)}
          </p>
          {channel.health === 'suspect' && <Spared app={app} id={id} />}
          <Facts
            facts={[
              ...Object.entries(channel.public).map(
                ([name, value]) =>
                  [
                    labelOf(name),
                    isCopied(name) ? (
                      <CopyableId key={name} id={value} />
                    ) : (
                      <span key={name} className="mono">
                        {value}
                      </span>
                    ),
                  ] as const,
              ),
              ['Last accepted push', <RelativeTime key="success" at={channel.last_success_at} none="none yet" />],
              ['Last error', channel.last_error && <LastError key="error" channel={channel} />],
              ['Set up', <RelativeTime key="set" at={channel.created_at} />],
            ]}
          />
        </>
      ) : (
        <p className="muted" style={{ margin: 0 }}>
          {platforms[id].reaches}. {platforms[id].needs}
        </p>
      )}
      <Modal
        opened={opened !== undefined}
        onClose={close}
        title={channelNames[id]}
        size="lg"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <Form app={app} present={opened?.present} onSaved={saved} onCancel={close} />
      </Modal>
    </Card>
  );
}

/** The number of names that are shown, because a wrong key may concern a whole audience. */
const sparedShown = 10;

/** The devices that a suspect credential would have cost. */
function Spared({ app, id }: { app: string; id: ChannelName }) {
  const { may } = useMay('device.read');
  const { data: devices = [], has_more: hasMore } =
    useQuery({ ...queryOf('listSparedDevices', { app, channel: id }), enabled: may }).data ?? {};
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

/** `public_key` reads as `Public key`, and the subject as the form calls it. */
function labelOf(field: string): string {
  if (field === 'subject') return 'Contact';
  return field.slice(0, 1).toUpperCase() + field.slice(1).replaceAll('_', ' ');
}

/** People compare keys and ids with those at the vendor, and paste them into code. */
const isCopied = (field: string): boolean => /(^|_)(id|key)(_|$)/.test(field);

function tellHealth({ health, last_success_at }: Credential): string {
  if (health === 'failing') return 'The push service rejects the credential. Replace it and send a test.';
  if (health === 'suspect') {
    return 'Most pushes fail as if the credential belonged to another app. No device is retired for it until a push succeeds.';
  }
  if (last_success_at === null) return 'Nothing went through it yet. Send a test to one device.';
  return 'The push service accepts what is sent.';
}

function LastError({ channel: { last_error, last_error_at } }: { channel: Credential }) {
  const { code, reason } = last_error ?? {};
  return (
    <>
      {codeTitle(String(code))} <span className="mono muted">{String(code)}</span>, <RelativeTime at={last_error_at} />
      {typeof reason === 'string' && <div className="mono muted">{reason}</div>}
    </>
  );
}

function TestButton({ app, id }: { app: string; id: ChannelName }) {
  const [device, setDevice] = useState('');
  const [result, setResult] = useState<ChannelTestResult>();
  const test = async () => {
    setResult(await call('testChannel', { app, channel: id, body: { device_id: device.trim() } }));
    await refresh(['listChannels', 'listSparedDevices'], { app });
  };
  return (
    <>
      {result !== undefined && (
        <span style={{ alignSelf: 'center' }} role="status">
          <Status status={result.status ?? 'waiting'} />{' '}
          <Link to={paths.delivery(app, result.message_id, result.device_id)}>See the test</Link>
        </span>
      )}
      <ConfirmButton
        label="Test"
        title={`Test ${channelNames[id].toLowerCase()}`}
        act="Send the test"
        effect={
          <TextInput
            label="Device id"
            description="It rings with a short text. The test goes the way of every message and counts as one delivery."
            placeholder="dev_…"
            value={device}
            onChange={({ currentTarget }) => setDevice(currentTarget.value)}
            data-autofocus
          />
        }
        run={test}
      />
    </>
  );
}
