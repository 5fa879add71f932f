// An app with all three channels set up at a sandbox, made by the command line as an operator
// would. Its devices are written in bulk, because a hundred thousand registrations would take
// longer than the proof.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Sql, transaction } from '@carillon/postgres';
import { parseOutboundExceptions } from '../../server/src/ground/outbound/address-guard.ts';
import { decodeId, encodeId, mintUuid, type Uuid } from '../../server/src/ground/values/ids.ts';
import { insertAudienceRows } from '../../server/src/people/audience/insert-many.ts';
import { copyProfile } from '../../server/src/people/audience/profile-copy.ts';
import { insertDevices, insertTokens } from '../../server/src/people/devices/insert-many.ts';
import { parseToken } from '../../server/src/people/devices/token.ts';
import type { Platform } from '../../server/src/sending/channels/channel.ts';
import { runCommand } from './command.ts';
import type { SandboxProcess } from './sandbox-process.ts';

export interface MixedApp {
  readonly id: string;
  readonly serverKey: string;
  readonly vapidKey: string;
}

export interface RunPlace {
  /** The environment of commands and nodes. */
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
}

/**
 * Makes an app on the plan `unlimited` with web push keys, an APNs key and a service account that
 * the sandbox knows.
 */
export async function makeMixedApp(place: RunPlace, sandbox: SandboxProcess, name: string): Promise<MixedApp> {
  const run = <Json>(...parameters: string[]): Promise<Json> =>
    runCommand<Json>(place.environment, place.directory, ...parameters);
  const app = await run<{ id: string; server_key: string }>('app', 'create', name, '--plan', 'unlimited');
  const webpush = await run<{ public_key: string }>('channel', 'set', app.id, 'webpush');

  const key = await sandbox.post<{ p8: string; key_id: string; team_id: string }>('/apns/keys', {});
  // Each app has separate files, because several apps may be made at once.
  const keyFile = join(place.directory, `apns-key-${app.id}.p8`);
  await writeFile(keyFile, key.p8, { mode: 0o600 });
  const apns = ['--key-file', keyFile, '--key-id', key.key_id, '--team-id', key.team_id, '--bundle-id', bundleId];
  await run('channel', 'set', app.id, 'apns', ...apns);

  const accountFile = join(place.directory, `service-account-${app.id}.json`);
  const account = await sandbox.post<object>('/fcm/service-accounts', { project_id: projectId });
  await writeFile(accountFile, JSON.stringify(account), { mode: 0o600 });
  await run('channel', 'set', app.id, 'fcm', '--service-account', accountFile);
  return { id: app.id, serverKey: app.server_key, vapidKey: webpush.public_key };
}

const bundleId = 'com.example.shop';
const projectId = 'sandbox-shop';

export interface MadeDevice {
  /** The device's id in the API. */
  readonly id: string;
  /** The device's token at the sandbox. */
  readonly token: string;
  readonly platform: Platform;
}

export interface DevicesPlan {
  readonly count: number;
  readonly platform: Platform;
  readonly seed: string;
  /** The prefix of the sandbox's tokens, by which fault rules select them. */
  readonly tokenPrefix?: string;
}

const devicesAtOnce = 1000;

/** Adds devices of one platform. Calls back with each stored thousand. */
export async function addDevices(
  sql: Sql,
  app: MixedApp,
  sandbox: SandboxProcess,
  plan: DevicesPlan,
  onMade: (devices: readonly MadeDevice[]) => Promise<void> | void,
): Promise<void> {
  const appId = decodeId('app', app.id);
  if (appId === undefined) throw new Error(`no app ${app.id}`);
  const channel = { web: 'webpush', ios: 'apns', android: 'fcm' }[plan.platform];
  const [credential] = await sql<{ id: number }[]>`
    SELECT id FROM credentials WHERE app_id = ${appId} AND channel = ${channel} AND replaced_at IS NULL`;
  if (!credential) throw new Error(`the app has no credential for ${channel}`);
  let held: NewDevice[] = [];
  for await (const device of makeTokens(app, sandbox, plan)) {
    held.push(device);
    if (held.length < devicesAtOnce) continue;
    await onMade(await insert(sql, appId, credential.id, plan.platform, held, rulesOf(sandbox)));
    held = [];
  }
  if (held.length > 0) await onMade(await insert(sql, appId, credential.id, plan.platform, held, rulesOf(sandbox)));
}

interface NewDevice {
  /** The token as it is registered. */
  readonly given: unknown;
  readonly token: string;
}

async function* makeTokens(app: MixedApp, sandbox: SandboxProcess, plan: DevicesPlan): AsyncGenerator<NewDevice> {
  const { count, platform, seed, tokenPrefix } = plan;
  const common = { count, seed, ...(tokenPrefix !== undefined && { token_prefix: tokenPrefix }) };
  if (platform === 'web') {
    const request = { ...common, vendor: 'generic', vapid_key: app.vapidKey };
    for await (const given of sandbox.makeMany<{ endpoint: string }>('/subscriptions', request)) {
      yield { given, token: given.endpoint.slice(given.endpoint.lastIndexOf('/') + 1) };
    }
    return;
  }
  const request = {
    ...common,
    platform,
    ...(platform === 'ios' ? { bundle_id: bundleId } : { project_id: projectId }),
  };
  for await (const { token } of sandbox.makeMany<{ token: string }>('/devices', request)) yield { given: token, token };
}

type Rules = Parameters<typeof parseToken>[2];

/** The rules by which a service that may reach the sandbox judges a registration. */
function rulesOf({ environment }: SandboxProcess): Rules {
  const list = (name: string): string[] => (environment[name] ?? '').split(',');
  return {
    pushHosts: list('PUSH_HOSTS'),
    exceptions: parseOutboundExceptions({
      allowCidrs: list('OUTBOUND_ALLOW_CIDRS'),
      allowPorts: environment['OUTBOUND_ALLOW_PORTS'],
    }),
    ownHosts: [],
  };
}

const noFacts = { locale: null, timezone: null, appVersion: null, sdk: null, os: null, osVersion: null, model: null };

async function insert(
  sql: Sql,
  appId: Uuid,
  credentialId: number,
  platform: Platform,
  given: readonly NewDevice[],
  rules: Rules,
): Promise<MadeDevice[]> {
  const now = new Date();
  const devices = given.map((each) => {
    const parsed = parseToken(platform, each.given, rules);
    if (!('token' in parsed)) throw new Error(`a device would be refused: ${JSON.stringify(parsed.issues)}`);
    const id = mintUuid(now.getTime());
    const times = { createdAt: now, registeredAt: now, identifiedAt: null };
    return { id, platform, token: parsed.token, credentialId, properties: {}, ...times };
  });
  const copy = copyProfile(null, {}, []);
  await transaction(sql, async (tx) => {
    await insertTokens(tx, appId, devices);
    await insertDevices(tx, appId, devices);
    const rows = devices.map(({ id }) => ({
      deviceId: id,
      platform,
      facts: noFacts,
      copy,
      createdAt: now,
      lastSeenAt: now,
    }));
    await insertAudienceRows(tx, appId, rows);
  });
  return devices.map(({ id }, index) => ({ id: encodeId('dev', id), token: given[index]?.token ?? '', platform }));
}
