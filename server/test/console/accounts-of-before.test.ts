// Accounts that the release before this one wrote, with a library of accounts: hashed passwords,
// seeds and recovery codes in a format of that library, sessions, links and tokens. They go on.
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { createTestDatabase } from '../../../packages/postgres/test/database.ts';
import { listMigrations, migrate } from '../../src/ground/database/migrations.ts';
import { type Response, setup } from '../setup.ts';
import { codeOf } from './authenticator.ts';
import { type Send, senderOf } from './console.ts';

/** Made through the console of that release, under the master key below. */
const before: {
  readonly ownerCookie: string;
  readonly benCookie: string;
  readonly uri: string;
  readonly ownerUri: string;
  readonly codes: readonly string[];
  readonly invite: string;
  readonly reset: string;
  readonly rows: Readonly<Record<string, readonly object[]>>;
} = JSON.parse(await readFile(new URL('../fixtures/accounts-of-before.json', import.meta.url), 'utf8'));
const masterKey = Buffer.alloc(32, 'accounts of before');
const password = 'correct horse battery';
const [anna, ben] = ['anna@shop.example', 'ben@shop.example'];

const database = await createTestDatabase();
const { sql } = database;
await sql`DROP SCHEMA public CASCADE`;
await sql`CREATE SCHEMA public`;
const migrations = await listMigrations();
await migrate(
  sql,
  migrations.filter(({ number }) => number < 132),
);
for (const [table, rows] of Object.entries(before.rows)) {
  await sql.unsafe(
    `INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(null::${table}, '${JSON.stringify(rows)}')`,
  );
}
// They were written a moment ago.
await sql`UPDATE account_sessions SET created_at = now(), last_used_at = now()`;
await sql`UPDATE account_links SET expires_at = now() + interval '1 hour' WHERE expires_at IS NOT NULL`;
await migrate(sql);

const t = await setup({ workers: false, database, masterKey });
const visitor = senderOf(t, {});
const withCookie = (cookie: string): Send => senderOf(t, { cookie });
const cookieOf = ({ headers }: Response): string => (headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
const stepOf = async (): Promise<Send> => {
  const answer = await visitor('POST', '/login', { email: ben, password });
  expect(answer.body).toEqual({ next: 'second_factor' });
  return withCookie(cookieOf(answer));
};
const stored = (): Promise<readonly { secret: string; backupCodes: string }[]> =>
  sql<{ secret: string; backupCodes: string }[]>`SELECT secret, backup_codes FROM second_factors`;

it('R-44 second factors of before are sealed like every secret once the service has started', async () => {
  await expect
    .poll(async () =>
      (await stored()).flatMap(({ secret, backupCodes }) => [secret.slice(0, 3), backupCodes.slice(0, 3)]),
    )
    .toEqual(['v1.', 'v1.', 'v1.', 'v1.']);
});

it('sessions of before go on', async () => {
  expect((await withCookie(before.ownerCookie)('GET', '/session')).body).toMatchObject({
    role: 'owner',
    account: { email: anna },
  });
  expect((await withCookie(before.benCookie)('GET', '/session')).body.account).toMatchObject({ two_factor: true });
});

it('a password of before signs in, and a wrong one does not', async () => {
  expect((await visitor('POST', '/login', { email: anna, password })).body).toEqual({ next: 'signed_in' });
  expect((await visitor('POST', '/login', { email: anna, password: `${password}.` })).status).toBe(401);
});

it('an authenticator and recovery codes of before are the second factor, each code once', async () => {
  const [first, second] = before.codes;
  const shown: readonly (readonly [object, number])[] = [
    [{ code: codeOf(before.uri, t.clock) }, 200],
    [{ code: first, is_recovery: true }, 200],
    [{ code: first, is_recovery: true }, 401],
    [{ code: second, is_recovery: true }, 200],
    [{ code: codeOf(before.ownerUri, t.clock) }, 401],
  ];
  for (const [body, status] of shown) {
    expect((await (await stepOf())('POST', '/login/second-factor', body)).status).toBe(status);
  }
});

it('a second factor that was begun before is confirmed', async () => {
  const code = codeOf(before.ownerUri, t.clock);
  const confirmed = await withCookie(before.ownerCookie)('POST', '/2fa/verify', { code });
  expect(confirmed.status).toBe(200);
  expect((await visitor('POST', '/login', { email: anna, password })).body).toEqual({ next: 'second_factor' });
});

it('invitations and resets of before work, once', async () => {
  const join = { secret: before.invite, name: 'Cleo', password };
  expect((await visitor('POST', '/join', join)).body).toEqual({ next: 'signed_in' });
  expect((await visitor('POST', '/join', join)).status).toBe(404);
  const reset = { secret: before.reset, password: 'staple correct horse' };
  expect((await visitor('POST', '/reset', reset)).body).toEqual({ next: 'sign_in' });
  expect((await withCookie(before.benCookie)('GET', '/session')).status).toBe(401);
});

it('an operator token of before knows its maker, where a person made it', async () => {
  const rows = await sql`
    SELECT t.name, a.email FROM operator_tokens t LEFT JOIN accounts a ON a.id = t.creator_id ORDER BY t.name`;
  expect(rows).toEqual([
    { name: 'Terraform', email: anna },
    { name: 'cli', email: null },
  ]);
});
