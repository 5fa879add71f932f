// Fills an app with web devices, each of a person of its own, as their registration would have left them: faster than a
// hundred thousand requests. The one place outside the server that writes its tables; migration 0003 says what they hold.
import { parseToken } from '../../server/src/devices/token.ts';
import { parseOutboundExceptions } from '../../server/src/platform/address-guard.ts';
import type { Sql } from '../../server/src/platform/db.ts';
import { decodeId, mintUuid } from '../../server/src/platform/ids.ts';
import { firstName } from './content.ts';
import type { OwnApp } from './own-app.ts';
import { type PushSubscriptionJson, type Receiver, subscribe } from './receiver.ts';
import { BenchError } from './workbench.ts';

const devicesPerStatement = 2000;

interface Row {
  readonly deviceId: string;
  readonly userId: string;
  readonly externalId: string;
  readonly token: string;
  readonly hash: Buffer;
  readonly hint: string;
}

/** Adds `count` devices subscribed at the receiver, and leaves the tables as a database at rest has them. */
export async function fillAudience(sql: Sql, app: OwnApp, receiver: Receiver, count: number): Promise<void> {
  const appId = decodeId('app', app.id);
  const [credential] = await sql<{ id: number }[]>`
    SELECT id FROM credentials WHERE app_id = ${appId ?? null} AND channel = 'webpush' AND replaced_at IS NULL`;
  if (appId === undefined || credential === undefined) throw new BenchError('the app has no credential for web push');

  let rows: Row[] = [];
  let made = 0;
  const toRow = rowMaker(receiver);
  for await (const each of subscribe(receiver.address, { count, vapidKey: app.vapidKey, seed: 'audience' })) {
    rows.push(toRow(each, made));
    made += 1;
    if (rows.length < devicesPerStatement && made < count) continue;
    await insertRows(sql, appId, credential.id, rows);
    rows = [];
  }
  if (made !== count) throw new BenchError(`the receiver made ${made} browsers of ${count}`);
  // Else autovacuum would do so in the middle of the measurement, and the first send pay for the writes of the filling.
  await sql`VACUUM (ANALYZE) people, users, device_tokens, devices, audience`;
  await sql`CHECKPOINT`;
}

function rowMaker({ environment }: Receiver): (subscription: PushSubscriptionJson, index: number) => Row {
  const list = (name: string): string[] => (environment[name] ?? '').split(',');
  const rules = {
    pushHosts: list('PUSH_HOSTS'),
    exceptions: parseOutboundExceptions({
      allowCidrs: list('OUTBOUND_ALLOW_CIDRS'),
      allowPorts: environment['OUTBOUND_ALLOW_PORTS'],
    }),
    ownHosts: [],
  };
  return (subscription, index) => {
    const parsed = parseToken('web', subscription, rules);
    if (!('token' in parsed)) throw new BenchError(`the receiver's subscription is refused: ${JSON.stringify(parsed)}`);
    const { text, hash, hint } = parsed.token;
    return {
      deviceId: mintUuid(),
      userId: mintUuid(),
      externalId: `person-${index}`,
      token: text,
      hash,
      hint,
    };
  };
}

async function insertRows(sql: Sql, appId: string, credentialId: number, rows: readonly Row[]): Promise<void> {
  const column = <Key extends keyof Row>(key: Key): Row[Key][] => rows.map((row) => row[key]);
  const deviceIds = column('deviceId');
  const userIds = column('userId');
  const externalIds = column('externalId');
  const hashes = column('hash');
  await sql`
    WITH given AS (
      SELECT * FROM unnest(
        ${deviceIds}::uuid[], ${userIds}::uuid[], ${externalIds}::text[], ${column('token')}::text[], ${hashes}::bytea[],
        ${column('hint')}::text[]
      ) AS r (device_id, user_id, external_id, token, hash, hint)
    ), tokens AS (
      INSERT INTO device_tokens (app_id, platform, token_hash, device_id) SELECT ${appId}, 'web', hash, device_id FROM given
    ), persons AS (
      INSERT INTO people (app_id, external_id, user_id) SELECT ${appId}, external_id, user_id FROM given
    ), profiles AS (
      INSERT INTO users (app_id, external_id, id, first_name, country, language, timezone)
      SELECT ${appId}, external_id, user_id, ${firstName}, 'DE', 'de', 'Europe/Berlin' FROM given
    ), made AS (
      INSERT INTO devices (app_id, id, platform, token, token_hash, token_hint, credential_id, status, registered_at,
        identified_at)
      SELECT ${appId}, device_id, 'web', token, hash, hint, ${credentialId}, 'active', now(), now() FROM given
    )
    INSERT INTO audience (app_id, device_id, user_id, created_at, user_created_at, last_seen_at, active, platform, locale,
      timezone, user_timezone, os, country, language, first_name, external_id)
    SELECT ${appId}, device_id, user_id, now(), now(), now(), true, 'web', 'de-DE', 'Europe/Berlin', 'Europe/Berlin',
      'Windows', 'DE', 'de', ${firstName}, external_id
    FROM given`;
}
