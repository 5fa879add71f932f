// Fills an app with devices, each of a different person, in the state that a registration and a
// first push leave. It is faster than a hundred thousand requests. It knows no table: it writes
// through the server's own bulk inserts.

import { type Sql, transaction } from '@carillon/postgres';
import { RunError } from '../../rig/src/workbench.ts';
import { parseOutboundExceptions } from '../../server/src/ground/outbound/address-guard.ts';
import { decodeId, mintUuid, type Uuid } from '../../server/src/ground/values/ids.ts';
import { insertAudienceRows } from '../../server/src/people/audience/insert-many.ts';
import { copyProfile } from '../../server/src/people/audience/profile-copy.ts';
import { insertDevices, insertTokens } from '../../server/src/people/devices/insert-many.ts';
import { type DeviceToken, parseToken } from '../../server/src/people/devices/token.ts';
import { insertUsers } from '../../server/src/people/users/insert-many.ts';
import type { Platform } from '../../server/src/sending/channels/channel.ts';
import { platformOf } from './channels.ts';
import { firstName } from './content.ts';
import type { SimulatedDevice } from './devices.ts';
import type { OwnApp } from './own-app.ts';
import type { Receiver } from './receiver.ts';

const devicesPerTransaction = 2_000;

/** Adds `count` devices whose pushes go to the receiver, and leaves the tables vacuumed. */
export async function fillAudience(
  sql: Sql,
  app: OwnApp,
  makeDevice: () => SimulatedDevice,
  receiver: Receiver,
  count: number,
): Promise<void> {
  const appId = decodeId('app', app.id);
  if (appId === undefined) throw new RunError('the app has no id');
  const [webCredential] = await sql<{ id: number }[]>`
    SELECT id FROM credentials WHERE app_id = ${appId} AND channel = 'webpush' AND replaced_at IS NULL`;
  const readToken = tokenReader(receiver);
  for (let made = 0; made < count; ) {
    const now = new Date();
    const size = Math.min(devicesPerTransaction, count - made);
    const people = Array.from({ length: size }, (_, i) => {
      const device = makeDevice();
      const credentialId = device.channel === 'webpush' ? (webCredential?.id ?? null) : null;
      return makePerson(platformOf[device.channel], readToken(device), `person-${made + i}`, credentialId, now);
    });
    await insert(sql, appId, people);
    made += size;
  }
  // Otherwise autovacuum would start in the middle of the measurement, and the first send would pay
  // for the writes of the filling.
  await sql`VACUUM (ANALYZE) people, users, device_tokens, devices, device_changes, audience`;
  await sql`CHECKPOINT`;
}

/** Validates tokens as a service does at registration when it may reach the receiver. */
function tokenReader({ environment }: Receiver): (device: SimulatedDevice) => DeviceToken {
  const list = (name: string): string[] => (environment[name] ?? '').split(',');
  const rules = {
    pushHosts: list('PUSH_HOSTS'),
    exceptions: parseOutboundExceptions({
      allowCidrs: list('OUTBOUND_ALLOW_CIDRS'),
      allowPorts: environment['OUTBOUND_ALLOW_PORTS'],
    }),
    ownHosts: [],
  };
  return (device) => {
    const given = device.channel === 'webpush' ? device.subscription : device.token;
    const parsed = parseToken(platformOf[device.channel], given, rules);
    if ('token' in parsed) return parsed.token;
    throw new RunError(`a device of the receiver would be refused: ${JSON.stringify(parsed.issues)}`);
  };
}

type Person = ReturnType<typeof makePerson>;

async function insert(sql: Sql, appId: Uuid, people: readonly Person[]): Promise<void> {
  // In the lock order that migration 0003 names.
  await transaction(sql, async (tx) => {
    const devices = people.map(({ device }) => device);
    await insertTokens(tx, appId, devices);
    await insertUsers(
      tx,
      appId,
      people.map(({ user }) => user),
    );
    await insertDevices(tx, appId, devices);
    await insertAudienceRows(
      tx,
      appId,
      people.map(({ audience }) => audience),
    );
  });
}

const factsOf = {
  web: { sdk: 'web/1.0.0', os: 'Windows', osVersion: '11', model: null },
  ios: { sdk: 'ios/1.0.0', os: 'iOS', osVersion: '18.5', model: 'iPhone17,1' },
  android: { sdk: 'android/1.0.0', os: 'Android', osVersion: '15', model: 'Pixel 9' },
};

function makePerson(
  platform: Platform,
  token: DeviceToken,
  externalId: string,
  credentialId: number | null,
  now: Date,
) {
  const user = {
    externalId,
    id: mintUuid(now.getTime()),
    firstName,
    country: 'DE',
    language: 'de',
    timezone: 'Europe/Berlin',
    properties: {},
    createdAt: now,
  };
  const device = {
    id: mintUuid(now.getTime()),
    platform,
    token,
    credentialId,
    properties: {},
    createdAt: now,
    registeredAt: now,
    isReached: true,
    identifiedAt: now,
  };
  const facts = {
    locale: 'de-DE',
    timezone: 'Europe/Berlin',
    appVersion: null,
    ...factsOf[platform],
  };
  const copy = copyProfile({ ...user, userId: user.id }, {}, []);
  const audience = { deviceId: device.id, platform: device.platform, facts, copy, createdAt: now, lastSeenAt: now };
  return { user, device, audience };
}
