// One channel: its health, its credential, and the acts on it.

import { Button, Modal } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import type { ChannelName, Credential } from '../../api/objects.ts';
import { refresh } from '../../api/queries.ts';
import { ConfirmButton } from '../../components/confirm.tsx';
import { May } from '../../components/not-allowed.tsx';
import { Status } from '../../components/status.tsx';
import { codeTitle } from '../../failure-codes.ts';
import { channelNames } from '../../format.ts';
import { ApnsForm } from '../../forms/apns.tsx';
import { FcmForm } from '../../forms/fcm.tsx';
import { WebpushForm } from '../../forms/webpush.tsx';
import { Card, Facts } from '../../ui/card.tsx';
import { CopyableId } from '../../ui/copy.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { Spared } from './spared.tsx';
import { TestButton } from './test-button.tsx';

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

/** A channel also decides whether its app is a test. */
async function refreshApp(app: string): Promise<void> {
  await refresh(['listChannels', 'listSparedDevices', 'getApp'], { app });
  await refresh('listApps');
}

export function ChannelCard({ app, id, channel }: { app: string; id: ChannelName; channel: Credential | undefined }) {
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
        <May act="channel.edit" size={13}>
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
        </May>
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
      <Modal opened={opened !== undefined} onClose={close} title={channelNames[id]} size="lg">
        <Form app={app} present={opened?.present} onSaved={saved} onCancel={close} />
      </Modal>
    </Card>
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
