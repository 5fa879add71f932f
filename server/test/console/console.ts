// People and scripts of the console, for its tests: sessions of each role, operator tokens, and
// clients that send what a browser or a script sends.

import { transaction } from '@carillon/postgres';
import { mintUuid, type Uuid } from '../../src/ground/values/ids.ts';
import { insertAccount, insertMember } from '../../src/teams/accounts/account-queries.ts';
import { createToken } from '../../src/teams/accounts/operator-tokens.ts';
import { insertSession } from '../../src/teams/accounts/queries.ts';
import type { Role } from '../../src/teams/accounts/roles.ts';
import { hashSecret, mintSecret } from '../../src/teams/accounts/session.ts';
import { consoleKeysOf, signToken } from '../../src/teams/accounts/signed-token.ts';
import { firstOrganisationId } from '../../src/teams/apps/queries.ts';
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
  const cookie = `${cookieName}=${signToken(consoleKeysOf({ key: t.masterKey })[0].session, token)}`;
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

/** A feed of server-sent events that a test reads. */
export interface Followed {
  readonly status: number;
  readonly headers: Headers;
  /** Resolves with the next event that fits. Rejects when the feed ends before. */
  until(fits: (event: ReturnType<typeof JSON.parse>) => boolean): Promise<ReturnType<typeof JSON.parse>>;
  /** Resolves when the service has ended the feed. */
  readonly ended: Promise<void>;
  /** Every event that came. */
  readonly events: readonly ReturnType<typeof JSON.parse>[];
  leave(): void;
}

/** Opens a feed below `/console/api` with these headers, as a browser's EventSource does. */
export async function follow(t: Pick<Bundle, 'url'>, path: string, headers: Record<string, string>): Promise<Followed> {
  const leaving = new AbortController();
  const response = await fetch(`${t.url}/console/api${path}`, { headers, signal: leaving.signal });
  const events: ReturnType<typeof JSON.parse>[] = [];
  let wake = (): void => undefined;
  let [isOver, given] = [false, 0];
  const read = async (): Promise<void> => {
    let text = '';
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body ?? []) {
        const parts = (text + decoder.decode(chunk, { stream: true })).split('\n\n');
        text = parts.pop() ?? '';
        for (const part of parts) if (part.startsWith('data: ')) events.push(JSON.parse(part.slice(6)));
        wake();
      }
    } catch {
      // A feed that breaks off has ended too.
    }
    isOver = true;
    wake();
  };
  const ended = read();
  return {
    status: response.status,
    headers: response.headers,
    ended,
    events,
    async until(fits) {
      for (;;) {
        while (given < events.length) {
          const event = events[given++];
          if (event && fits(event)) return event;
        }
        if (isOver) throw new Error(`the feed ended after ${JSON.stringify(events)}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    leave: () => leaving.abort(),
  };
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
