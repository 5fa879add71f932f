// Fills an app with web devices, each of a person of its own, as their registration would have left them: faster than a
// hundred thousand requests. Knows no table: it writes through the server's own bulk inserts.
import { insertAudienceRows } from '../../server/src/audience/insert-many.ts';
import { copyProfile } from '../../server/src/audience/profile-copy.ts';
import { insertDevices, insertTokens } from '../../server/src/devices/insert-many.ts';
import { type DeviceToken, parseToken } from '../../server/src/devices/token.ts';
import { parseOutboundExceptions } from '../../server/src/platform/address-guard.ts';
import { type Sql, transaction } from '../../server/src/platform/db.ts';
import { decodeId, mintUuid, type Uuid } from '../../server/src/platform/ids.ts';
import { insertUsers } from '../../server/src/users/insert-many.ts';
import { firstName } from './content.ts';
import type { OwnApp } from './own-app.ts';
import { type Receiver, subscribe } from './receiver.ts';
import { BenchError } from './workbench.ts';

const devicesPerTransaction = 2_000;

/** Adds `count` devices subscribed at the receiver, and leaves the tables as a database at rest has them. */
export async function fillAudience(sql: Sql, app: OwnApp, receiver: Receiver, count: number): Promise<void> {
  const appId = decodeId('app', app.id);
  const [credential] = await sql<{ id: number }[]>`
    SELECT id FROM credentials WHERE app_id = ${appId ?? null} AND channel = 'webpush' AND replaced_at IS NULL`;
  if (appId === undefined || credential === undefined) throw new BenchError('the app has no credential for web push');

  const readToken = tokenReader(receiver);
  let tokens: DeviceToken[] = [];
  let made = 0;
  for await (const each of subscribe(receiver.address, { count, vapidKey: app.vapidKey, seed: 'audience' })) {
    tokens.push(readToken(each));
    if (tokens.length < devicesPerTransaction && made + tokens.length < count) continue;
    await insert(sql, appId, credential.id, tokens, made);
    made += tokens.length;
    tokens = [];
  }
  if (made !== count) throw new BenchError(`the receiver made ${made} browsers of ${count}`);
  // Else autovacuum would do so in the middle of the measurement, and the first send pay for the writes of the filling.
  await sql`VACUUM (ANALYZE) people, users, device_tokens, devices, device_changes, audience`;
  await sql`CHECKPOINT`;
}

/** The judgement of a registration by a service that may reach the receiver. */
function tokenReader({ environment }: Receiver): (subscription: unknown) => DeviceToken {
  const list = (name: string): string[] => (environment[name] ?? '').split(',');
  const rules = {
    pushHosts: list('PUSH_HOSTS'),
    exceptions: parseOutboundExceptions({
      allowCidrs: list('OUTBOUND_ALLOW_CIDRS'),
      allowPorts: environment['OUTBOUND_ALLOW_PORTS'],
    }),
    ownHosts: [],
  };
  return (subscription) => {
    const parsed = parseToken('web', subscription, rules);
    if ('token' in parsed) return parsed.token;
    throw new BenchError(`a browser of the receiver would be refused: ${JSON.stringify(parsed.issues)}`);
  };
}

async function insert(
  sql: Sql,
  appId: Uuid,
  credentialId: number,
  tokens: readonly DeviceToken[],
  firstNumber: number,
): Promise<void> {
  const now = new Date();
  const people = tokens.map((token, index) => makePerson(token, firstNumber + index, credentialId, now));
  // In the order of locks that migration 0003 names.
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

function makePerson(token: DeviceToken, number: number, credentialId: number, now: Date) {
  const user = {
    id: mintUuid(now.getTime()),
    externalId: `person-${number}`,
    firstName,
    country: 'DE',
    language: 'de',
    timezone: 'Europe/Berlin',
    properties: {},
    createdAt: now,
  };
  const device = {
    id: mintUuid(now.getTime()),
    platform: 'web' as const,
    token,
    credentialId,
    properties: {},
    createdAt: now,
    registeredAt: now,
    identifiedAt: now,
  };
  const facts = {
    locale: 'de-DE',
    timezone: 'Europe/Berlin',
    appVersion: null,
    sdk: 'web/1.0.0',
    os: 'Windows',
    osVersion: '11',
    model: null,
  };
  const copy = copyProfile({ ...user, userId: user.id }, {}, []);
  const audience = { deviceId: device.id, platform: device.platform, facts, copy, createdAt: now, lastSeenAt: now };
  return { user, device, audience };
}
