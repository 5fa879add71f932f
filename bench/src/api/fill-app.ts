// Makes the apps that the API is measured with. Their devices, users and scheduled messages are
// made through the API; nothing is sent.

import type { Service } from '../../../rig/src/service.ts';
import { callForJson } from '../call-api.ts';
import { createApp, type OwnApp } from '../own-app.ts';
import { type Asking, deviceBody, type RequestKind } from './requests.ts';

export interface FilledApp extends Omit<OwnApp, 'clientKey'> {
  /** Several client keys, because the bytes of one key are limited on every plan. */
  readonly clientKeys: readonly [string, ...string[]];
  /** Each name is the beginning of a device's token and the `external_id` of a user. */
  readonly names: readonly string[];
  readonly messages: readonly string[];
}

const atOnce = 20;
const messagesMade = 20;
/** Together the keys may send more bytes of registrations a second than the service accepts. */
const clientKeysMade = 6;

/** Makes an app on the plan `unlimited`, fills it, and then gives it the requested plan. */
export async function fillApp(service: Service, plan: string, devices: number): Promise<FilledApp> {
  const { clientKey, ...app } = await createApp(service, `Bench ${plan} ${devices}`);
  const names = Array.from({ length: devices }, (_, i) => `${app.id}-${i}`);
  const post = (path: string, body: object): Promise<{ id: string }> =>
    callForJson({ method: 'POST', url: service.url + path, key: app.serverKey, body });
  for (let i = 0; i < names.length; i += atOnce) {
    await Promise.all(
      names.slice(i, i + atOnce).map(async (name) => {
        await post('/v1/devices', JSON.parse(deviceBody(name)));
        await post('/v1/users', { external_id: name, properties: { plan: 'pro', age: 36 } });
      }),
    );
  }
  const sendAt = new Date(Date.now() + 86_400_000).toISOString();
  const content = { title: 'Sale', body: 'Everything must go', url: 'https://shop.example/sale' };
  const messages: string[] = [];
  for (let i = 0; i < messagesMade; i++) {
    messages.push((await post('/v1/messages', { audience: { all: true }, content, send_at: sendAt })).id);
  }
  if (plan !== 'unlimited') await service.run('app', 'plan', app.id, plan);
  const more = await makeKeys(service, app, { scope: 'client', count: clientKeysMade - 1 });
  return { ...app, clientKeys: [clientKey, ...more], names, messages };
}

/** Creates additional keys for an app. */
export async function makeKeys(
  service: Service,
  { id }: Pick<OwnApp, 'id'>,
  { scope, count }: { readonly scope: 'server' | 'client'; readonly count: number },
): Promise<string[]> {
  const keys: string[] = [];
  for (let i = 0; i < count; i++) {
    const made = await service.run<{ key: string }>('key', 'create', id, '--scope', scope, '--name', `Bench ${i}`);
    keys.push(made.key);
  }
  return keys;
}

/**
 * The requests of one kind to an app. Registrations use its client keys, as real apps do; all other
 * kinds use its server key.
 */
export function askingOf(kind: RequestKind, app: FilledApp, keys?: readonly string[]): Asking {
  const usual = kind === 'new devices' || kind === 'known devices' ? app.clientKeys : [app.serverKey];
  return { kind, keys: keys ?? usual, ids: kind === 'message' ? app.messages : app.names };
}
