// Makes the apps that a benchmark measures with: without limits, with credentials that are set by
// the command line.

import type { Service } from '../../rig/src/service.ts';
import type { Workbench } from '../../rig/src/workbench.ts';
import type { ChannelId } from '../../server/src/sending/channels/channel.ts';
import { channelsOf, type Way } from './channels.ts';
import { apnsIdentity, type Credentials, writeCredentials } from './credentials.ts';

export interface OwnApp {
  readonly id: string;
  readonly serverKey: string;
  readonly clientKey: string;
}

export async function makeApp(
  workbench: Workbench,
  service: Service,
  { way, credentials }: { readonly way: Way; readonly credentials: Credentials },
): Promise<OwnApp> {
  const app = await createApp(service, 'Benchmark');
  await setChannels(workbench, service, { appId: app.id, channels: channelsOf(way), credentials });
  return app;
}

/** Makes an app without limits and without channels. */
export async function createApp(service: Service, name: string): Promise<OwnApp> {
  const {
    id,
    server_key: serverKey,
    client_key: clientKey,
  } = await service.run<{
    readonly id: string;
    readonly server_key: string;
    readonly client_key: string;
  }>('app', 'create', name, '--plan', 'unlimited');
  return { id, serverKey, clientKey };
}

/** Sets these channels of an app by the command line. */
export async function setChannels(
  workbench: Workbench,
  service: Service,
  {
    appId,
    channels,
    credentials,
  }: { readonly appId: string; readonly channels: readonly ChannelId[]; readonly credentials: Credentials },
): Promise<void> {
  const files = await writeCredentials(credentials, await workbench.makeDirectory('keys'));
  const { keyId, teamId, bundleId } = apnsIdentity;
  const options = {
    webpush: ['--vapid-file', files.vapidFile],
    apns: ['--key-file', files.apnsKeyFile, '--key-id', keyId, '--team-id', teamId, '--bundle-id', bundleId],
    fcm: ['--service-account', files.serviceAccountFile],
  };
  for (const channel of channels) await service.run('channel', 'set', appId, channel, ...options[channel]);
}
