// Finds who calls a route of the console and whether they may, before a byte of the body is read.
// The order of checks: origin, session or token, kind of caller, second factor, role, then the app
// of the path. Refusals for a role are written to the audit log, at most once a minute for
// each caller and route, so that nobody can fill it.

import { type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { ApiError, notFound } from '../../ground/http/api-error.ts';
import type { Access, Admission, RequestHead } from '../../ground/http/server.ts';
import { hashToken, isTokenOf } from '../../ground/secrets/checked-token.ts';
import { decodeId, encodeId, type Uuid } from '../../ground/values/ids.ts';
import { personOf } from '../../teams/accounts/begin-session.ts';
import { tokenPrefix } from '../../teams/accounts/operator-tokens.ts';
import {
  findSession,
  findTokenByHash,
  type OperatorToken,
  touchSession,
  touchToken,
} from '../../teams/accounts/queries.ts';
import { isAtLeast, type Role, roles } from '../../teams/accounts/roles.ts';
import { hashSecret, lacksSecondFactor, type Session } from '../../teams/accounts/session.ts';
import { cookieFormOf, readCookie } from '../../teams/accounts/session-cookie.ts';
import { type ConsoleKeys, isSigned, tokenOf } from '../../teams/accounts/signed-token.ts';
import type { KeyLookups } from '../../teams/apps/key-lookups.ts';
import { findApp } from '../../teams/apps/queries.ts';
import type { Actor } from '../../teams/audit/actor.ts';
import { recordAudit } from '../../teams/audit/record-audit.ts';
import type { AppCaller, ConsoleCaller, Visitor } from './caller.ts';
import type { ConsoleLimits } from './limits.ts';
import { checkOrigin, checkReader } from './origin.ts';

const usedNotedEveryMs = 60_000;
const knownTokensMax = 10_000;
const forwardingHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via'];

export interface GuardDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly publicUrl: string | null;
  /** Counts a request of an operator token (contract 19: 60 a second each). */
  admitToken(organisationId: Uuid, tokenId: Uuid): Promise<Admission> | null;
  readonly limits: ConsoleLimits;
  /** The keys that cookies of sessions are signed with, the present ones first. */
  readonly consoleKeys: readonly ConsoleKeys[];
  /** Limits look-ups of unsigned cookies and unknown tokens, because anybody can invent them. */
  readonly lookups: KeyLookups;
  /** Resolves when a 401 may be answered. */
  delayUnauthorized(address: string): Promise<void>;
}

interface GuardedRoute {
  readonly id: string;
  readonly access: Access;
  readonly least?: string;
}

/** The caller that a guard found, and headers that its answer carries. */
export interface Found<Caller> {
  readonly caller: Caller;
  readonly headers: Readonly<Record<string, string>>;
}

export interface ConsoleGuard {
  /** For routes of signing in. */
  visitor(head: RequestHead): Found<Visitor>;
  /** For routes of an organisation. Throws the 401 or the 403. */
  caller(head: RequestHead, route: GuardedRoute): Promise<Found<ConsoleCaller>>;
  /** For routes of an app. Throws also the 404 of an app of another organisation. */
  appCaller(head: RequestHead, route: GuardedRoute): Promise<Found<AppCaller>>;
}

export function createGuard(deps: GuardDeps): ConsoleGuard {
  const { sql, txSql, clock, publicUrl, limits, consoleKeys, lookups } = deps;
  const knownTokens = createKnownTokens();
  const visitorOf = ({ header, peer }: RequestHead): Visitor => ({
    cookieForm: cookieFormOf(publicUrl, {
      host: header('host')[0],
      isForwarded: forwardingHeaders.some((name) => header(name).length > 0),
      protocols: header('x-forwarded-proto'),
      peer,
    }),
  });

  // A cookie under a deleted master key has no valid signature any more, but still leads to its
  // session.
  const findSessionOf = (cookie: string, address: string): Promise<Session | undefined> => {
    const find = () => findSession(sql, clock, hashSecret(tokenOf(cookie)));
    return isSigned(consoleKeys, cookie, clock.nowMs()) ? find() : lookups.run(address, find);
  };

  const callerOfSession = async (head: RequestHead): Promise<ConsoleCaller> => {
    checkOrigin(head, publicUrl);
    checkReader(head);
    const visitor = visitorOf(head);
    const cookie = visitor.cookieForm && readCookie(head.header('cookie'), visitor.cookieForm.name);
    const session = cookie ? await findSessionOf(cookie, head.address) : undefined;
    if (!session) throw new ApiError('not_signed_in');
    limits.admitSession(session.id);
    if (clock.nowMs() - session.lastUsedAt.getTime() > usedNotedEveryMs) {
      // No request waits for this write; the next request makes up for a lost one.
      touchSession(txSql, clock, session.id).catch((error: unknown) =>
        head.log.warn({ err: error }, 'the use of a session is not noted'),
      );
    }
    const { organisationId, role } = session;
    return {
      ...visitor,
      by: personOf({ id: session.accountId, email: session.email }, head.address),
      organisationId,
      role,
      session,
    };
  };

  const findToken = async (hash: Buffer, address: string): Promise<OperatorToken | undefined> => {
    const find = () => findTokenByHash(sql, hash);
    const token = await (knownTokens.has(hash) ? find() : lookups.run(address, find));
    knownTokens.note(hash, token !== undefined);
    return token;
  };

  const callerOfToken = async (head: RequestHead, authorization: readonly string[]): Promise<Found<ConsoleCaller>> => {
    const isOfBrowser = [...head.header('origin'), ...head.header('cookie')].length > 0;
    if (isOfBrowser) {
      const message = 'An operator token is for scripts: without a cookie and without an Origin header.';
      throw new ApiError('cross_origin', { message });
    }
    const [, text = ''] = (authorization.length === 1 && /^bearer (\S+)$/i.exec(authorization[0] ?? '')) || [];
    const token = isTokenOf(tokenPrefix, text) ? await findToken(hashToken(text), head.address) : undefined;
    if (!token) throw new ApiError('not_signed_in', { message: 'The operator token is not valid.' });
    const { id, name, role, organisationId, lastUsedAt } = token;
    const admission = await deps.admitToken(organisationId, id);
    if (admission?.refusal) throw admission.refusal;
    if (clock.nowMs() - (lastUsedAt?.getTime() ?? 0) > usedNotedEveryMs) {
      touchToken(txSql, clock, id).catch((error: unknown) =>
        head.log.warn({ err: error }, 'the use of an operator token is not noted'),
      );
    }
    const by: Actor = { kind: 'token', id: encodeId('tok', id), name, address: head.address };
    const caller: ConsoleCaller = { cookieForm: null, by, organisationId, role, session: null };
    return { caller, headers: admission?.headers ?? {} };
  };

  const identify = async (head: RequestHead): Promise<Found<ConsoleCaller>> => {
    const authorization = head.header('authorization');
    try {
      if (authorization.length > 0) return await callerOfToken(head, authorization);
      return { caller: await callerOfSession(head), headers: {} };
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) await deps.delayUnauthorized(head.address);
      throw error;
    }
  };

  const refuseRole = async (caller: ConsoleCaller, route: GuardedRoute, least: Role): Promise<never> => {
    if (limits.mayRecordRefusal(caller.by.id ?? '', route.id)) {
      const after = { operation: route.id, role: caller.role, least };
      await transaction(txSql, (tx) =>
        recordAudit(
          { tx, clock, by: caller.by },
          { appId: null, orgId: caller.organisationId, action: 'access.refuse', target: route.id, after },
        ),
      );
    }
    throw new ApiError('role_too_low', { message: `This needs the role ${least}; yours is ${caller.role}.` });
  };

  const callerOf: ConsoleGuard['caller'] = async (head, route) => {
    const found = await identify(head);
    const { caller } = found;
    const isOfPerson = route.least === 'person';
    if (route.access === 'session' && caller.session === null) throw new ApiError('session_only');
    const { session } = caller;
    // Signing out and setting up the second factor stay possible.
    if (!isOfPerson && session && lacksSecondFactor(session)) {
      throw new ApiError('second_factor_required');
    }
    const least = isOfPerson ? undefined : roles.find((role) => role === route.least);
    if (!isOfPerson && !least) throw new Error(`${route.id} has no least role`);
    if (least && !isAtLeast(caller.role, least)) await refuseRole(caller, route, least);
    return found;
  };

  return {
    visitor(head) {
      checkOrigin(head, publicUrl);
      limits.admitVisitor(head.address);
      return { caller: visitorOf(head), headers: {} };
    },
    caller: callerOf,
    async appCaller(head, route) {
      const { caller, headers } = await callerOf(head, route);
      const text = head.params['app'] ?? '';
      const id = decodeId('app', text);
      const app = id && (await findApp(sql, id));
      // An app of another organisation reads like one that does not exist.
      if (!app || app.organisationId !== caller.organisationId) throw noSuchApp(text);
      return { caller: { ...caller, app }, headers };
    },
  };
}

interface KnownTokens {
  has(hash: Buffer): boolean;
  note(hash: Buffer, isFound: boolean): void;
}

/** Remembers the hashes of known tokens, whose look-ups wait for no others. */
function createKnownTokens(): KnownTokens {
  const hashes = new Set<string>();
  return {
    has: (hash) => hashes.has(hash.toString('latin1')),
    note(hash, isFound) {
      if (hashes.size >= knownTokensMax) hashes.clear();
      if (isFound) hashes.add(hash.toString('latin1'));
      else hashes.delete(hash.toString('latin1'));
    },
  };
}

/** The 404 of an app that does not exist or belongs to another organisation. */
export function noSuchApp(text: string): ApiError {
  return notFound(`No app ${text.slice(0, 80)} in this organisation.`);
}
