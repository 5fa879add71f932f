// Anybody can invent a cookie or an operator token. Looking one up waits in the line of unknown
// keys (contract 4), and what belongs to somebody who is signed in never waits there.
import { beforeEach, expect, it } from 'vitest';
import { createGuard } from '../../src/console/operations/guard.ts';
import { createConsoleLimits } from '../../src/console/operations/limits.ts';
import { createLog } from '../../src/ground/host/log.ts';
import { mintToken } from '../../src/ground/secrets/checked-token.ts';
import { createToken, revokeToken, tokenPrefix } from '../../src/teams/accounts/operator-tokens.ts';
import { hashSecret, mintSecret } from '../../src/teams/accounts/session.ts';
import { consoleKeysOf, signToken } from '../../src/teams/accounts/signed-token.ts';
import { setup } from '../setup.ts';
import { cookieName, firstOrganisationId, signIn } from './console.ts';

const t = await setup({ workers: false });
const formerKey = Buffer.alloc(32, 7);
const sessionKeyOf = (key: Buffer) => consoleKeysOf({ key })[0].session;
/** The addresses whose look-ups waited in line. */
let waited: string[] = [];
const guard = createGuard({
  sql: t.sql,
  txSql: t.sql,
  clock: t.clock,
  publicUrl: t.config.publicUrl,
  consoleKeys: consoleKeysOf({ key: t.masterKey, previous: formerKey }),
  admitToken: () => null,
  limits: createConsoleLimits(t.clock),
  lookups: {
    run(address, lookUp) {
      waited.push(address);
      return lookUp();
    },
  },
  delayUnauthorized: async () => undefined,
});
beforeEach(() => {
  waited = [];
});

const address = '192.0.2.1';
const log = createLog('silent', 'test');
async function ask(headers: Readonly<Record<string, string>>): Promise<string> {
  const header = (name: string): string[] => [headers[name] ?? []].flat();
  const peer = { isTrusted: false, isLoopback: true };
  const head = { method: 'GET', params: {}, id: 'req_1', log, address, header, peer };
  const route = { id: 'listApps', access: 'session-or-token', least: 'viewer' } as const;
  return guard.caller(head, route).then(
    ({ caller }) => caller.by.kind,
    (error: { code: string }) => error.code,
  );
}
const cookieOf = (value: string) => ({ cookie: `${cookieName}=${value}` });

it.each([
  ['that nobody signed', () => `${mintSecret()}.${Buffer.alloc(32).toString('base64')}`],
  ['without a signature', () => mintSecret()],
  ['that is no text', () => '%ff'],
  ['that another key signed', () => signToken(sessionKeyOf(Buffer.alloc(32, 9)), mintSecret())],
])('a cookie %s waits in line', async (_what, value) => {
  expect(await ask(cookieOf(value()))).toBe('not_signed_in');
  expect(waited).toEqual([address]);
});

it('the cookie of a session never waits, also while the master key is replaced', async () => {
  const { cookie, accountId } = await signIn(t, 'viewer');
  expect(await ask({ cookie })).toBe('person');
  const token = mintSecret();
  await t.sql`UPDATE account_sessions SET token_hash = ${hashSecret(token)} WHERE account_id = ${accountId}`;
  expect(await ask(cookieOf(signToken(sessionKeyOf(formerKey), token)))).toBe('person');
  expect(waited).toEqual([]);
  // After the replacement the session goes on.
  expect(await ask(cookieOf(signToken(sessionKeyOf(Buffer.alloc(32, 9)), token)))).toBe('person');
  expect(waited).toEqual([address]);
});

it('an operator token waits until it was found once, and again after its end', async () => {
  const deps = { sql: t.sql, clock: t.clock, by: t.by };
  const made = await createToken(deps, { organisationId: firstOrganisationId, name: 'script', role: 'viewer' });
  const bearer = { authorization: `Bearer ${made.text}` };
  for (let times = 0; times < 3; times++) expect(await ask(bearer)).toBe('token');
  expect(waited).toEqual([address]);
  await revokeToken(deps, { organisationId: firstOrganisationId, id: made.token.id });
  for (let times = 0; times < 3; times++) expect(await ask(bearer)).toBe('not_signed_in');
  expect(waited).toEqual([address, address, address]);
  expect(await ask({ authorization: `Bearer ${mintToken(tokenPrefix).text}` })).toBe('not_signed_in');
  expect(waited).toHaveLength(4);
});

it('a token that is malformed is not looked up at all', async () => {
  expect(await ask({ authorization: `Bearer ${tokenPrefix}short` })).toBe('not_signed_in');
  expect(waited).toEqual([]);
});
