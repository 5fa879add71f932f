// People and scripts of the console, for its tests: sessions of each role, operator tokens, and
// clients that send what a browser or a script sends.
import { insertAccount, insertMember } from '../../src/accounts/account-queries.ts';
import { createToken } from '../../src/accounts/operator-tokens.ts';
import { insertSession } from '../../src/accounts/queries.ts';
import type { Role } from '../../src/accounts/roles.ts';
import { hashSecret, mintSecret } from '../../src/accounts/session.ts';
import { authSecretOf, signToken } from '../../src/accounts/signed-token.ts';
import { firstOrganisationId } from '../../src/apps/queries.ts';
import { transaction } from '../../src/database/db.ts';
import { mintUuid, type Uuid } from '../../src/ground/ids.ts';
import type { Bundle, Response } from '../setup.ts';

export const origin = 'https://carillon.test.example';
export const cookieName = '__Host-carillon_session';
export { firstOrganisationId };

export type Send = (method: string, path: string, body?: unknown) => Promise<Response>;

export interface Person {
  readonly accountId: Uuid;
  readonly email: string;
  readonly cookie: string;
  /** Sends a request below `/console/api` as the console's pages do. */
  readonly send: Send;
}

let people = 0;

/** Makes a person with this role and a session of theirs. */
export async function signIn(t: Bundle, role: Role, organisationId: Uuid = firstOrganisationId): Promise<Person> {
  const [accountId, email, token] = [mintUuid(), `person-${++people}@shop.example`, mintSecret()];
  await transaction(t.sql, async (tx) => {
    await insertAccount(tx, t.clock, { id: accountId, email, name: `Person ${people}` });
    await insertMember(tx, t.clock, { organisationId, accountId, role });
    const session = { id: mintUuid(), tokenHash: hashSecret(token), accountId, address: null, userAgent: null };
    await insertSession(tx, t.clock, session);
  });
  const cookie = `${cookieName}=${signToken(authSecretOf(t.masterKey), token)}`;
  return { accountId, email, cookie, send: senderOf(t, { cookie }) };
}

/** Sends requests with these headers and those that the console's own pages add. */
export function senderOf(t: Bundle, headers: Record<string, string>): Send {
  return (method, path, body) =>
    t.request(method, `/console/api${path}`, {
      headers: { origin, 'sec-fetch-site': 'same-origin', ...headers },
      ...(body !== undefined && { body }),
    });
}

/** Makes an operator token of this role, and sends requests as a script does. */
export async function scriptOf(t: Bundle, role: Role, organisationId: Uuid = firstOrganisationId): Promise<Send> {
  const { text } = await createToken(t, { organisationId, name: `script of ${role}`, role });
  return (method, path, body) =>
    t.request(method, `/console/api${path}`, { key: text, ...(body !== undefined && { body }) });
}

/** Makes another organisation. */
export async function makeOrganisation(t: Bundle, name: string): Promise<Uuid> {
  const id = mintUuid();
  await t.sql`INSERT INTO organisations (id, name) VALUES (${id}, ${name})`;
  return id;
}
