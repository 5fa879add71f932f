// Access tokens for a service account. An assertion signed with RS256 is exchanged at the one
// address that the operator configured (RFC 7523;
// https://developers.google.com/identity/protocols/oauth2/service-account). Each account has at
// most one exchange under way. After a failure there is none for a while, so that a bad key does
// not cost a request per push. A token never enters an outcome.
import { sign } from 'node:crypto';
import type { OutboundResult } from '../../../ground/outbound/http.ts';
import type { OutboundOrigin } from '../../../ground/outbound/socket.ts';
import type { OutboundTransport } from '../../../ground/outbound/transport.ts';
import type { ChannelClock, RefusedOutcome } from '../channel.ts';
import type { ErrorCode } from '../error-code.ts';
import { headerText, presentProviderAnswer, refused, unanswered } from '../provider-answer.ts';
import { reasonOf } from './answer.ts';
import type { FcmCredential } from './credential.ts';

/** A token, or the outcome of every push that needs the token. */
export type Access = { readonly token: string } | { readonly refusal: RefusedOutcome };

export interface AccessTokens {
  /**
   * A token that is valid now, without waiting; undefined when the caller has to ask `tokenFor`.
   */
  held(credential: FcmCredential): Access | undefined;
  /** Never rejects. */
  tokenFor(credential: FcmCredential): Promise<Access>;
  /**
   * The access to try after Google refused a token: a token obtained in the meantime, or a new one.
   * Undefined when a new one was forced within the last minute, because Google would refuse another
   * one too.
   */
  replace(credential: FcmCredential, refused: string): Promise<Access | undefined>;
}

export interface AccessTokenOptions {
  readonly transport: OutboundTransport;
  readonly origin: OutboundOrigin;
  /** The token endpoint at that origin. */
  readonly path: string;
  readonly clock: ChannelClock;
  readonly timeoutMs: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Times are by `clock.steadyMs`, because a clock that is set changes no duration. */
interface Account {
  access: { readonly token: string } | undefined;
  expiresAtMs: number;
  renewAtMs: number;
  forcedAtMs: number;
  failure: RefusedOutcome | undefined;
  failedUntilMs: number;
  underWay: Promise<void> | undefined;
}

const scope = 'https://www.googleapis.com/auth/firebase.messaging';
const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const assertionSeconds = 3_600;
const renewBeforeMs = 300_000;
const lifetimeSecondsLeast = 1;
const failureMsLeast = 30_000;
const forceEveryMs = 60_000;
/** Above this number the oldest account is forgotten. Its next push asks for a new token. */
const accountsMax = 10_000;
const retryAfterMsMax = 3_600_000;

export function createAccessTokens(options: AccessTokenOptions): AccessTokens {
  const { clock, random } = options;
  const accounts = new Map<string, Account>();

  const accountOf = (credential: FcmCredential): Account => {
    const name = nameOf(credential);
    const known = accounts.get(name);
    if (known !== undefined) return known;
    const oldest = accounts.size >= accountsMax ? accounts.keys().next().value : undefined;
    if (oldest !== undefined) accounts.delete(oldest);
    const account: Account = {
      access: undefined,
      expiresAtMs: 0,
      renewAtMs: 0,
      forcedAtMs: Number.NEGATIVE_INFINITY,
      failure: undefined,
      failedUntilMs: 0,
      underWay: undefined,
    };
    accounts.set(name, account);
    return account;
  };

  const obtain = async (account: Account, credential: FcmCredential): Promise<void> => {
    const { steps } = clock;
    const isTimely = (): boolean => !clock.isInDoubt() && clock.steps === steps;
    if (!isTimely()) return;
    const askedMs = clock.steadyMs();
    const result = await exchange(options, credential, isTimely);
    const grant = readGrant(result);
    if (grant !== undefined) {
      account.access = { token: grant.token };
      // After a sleep of the host, a token may arrive late and be expired.
      account.expiresAtMs = askedMs + grant.lifetimeMs;
      // A token that lives less than ten minutes is used for half of its life.
      account.renewAtMs = askedMs + Math.max(grant.lifetimeMs - renewBeforeMs, grant.lifetimeMs / 2);
      account.failure = undefined;
      return;
    }
    // The assertion may have a time from before the step, so the next push may ask again.
    if (clock.steps !== steps) return;
    const failure = readFailure(result, clock.nowMs());
    account.failure = failure;
    account.failedUntilMs = clock.steadyMs() + Math.max(failureMsLeast * (1 + random()), failure.retryAfterMs ?? 0);
  };

  const current = async (credential: FcmCredential): Promise<Access> => {
    const account = accountOf(credential);
    const has = (limitMs: number) => account.access !== undefined && clock.steadyMs() < limitMs;
    const isFailing = () => account.failure !== undefined && clock.steadyMs() < account.failedUntilMs;
    if (!has(account.renewAtMs) && !isFailing()) {
      account.underWay ??= obtain(account, credential).finally(() => {
        account.underWay = undefined;
      });
      await account.underWay;
    }
    // The old token is used until its end while no new one can be got.
    if (account.access !== undefined && has(account.expiresAtMs)) return account.access;
    return { refusal: presentFailure(account, clock.steadyMs()) };
  };

  return {
    held(credential) {
      const { access, renewAtMs } = accountOf(credential);
      return access !== undefined && clock.steadyMs() < renewAtMs ? access : undefined;
    },
    tokenFor: current,
    async replace(credential, refused) {
      const account = accountOf(credential);
      if (account.access?.token === refused) {
        if (clock.steadyMs() - account.forcedAtMs < forceEveryMs) return undefined;
        account.forcedAtMs = clock.steadyMs();
        account.access = undefined;
        account.failure = undefined;
      }
      return current(credential);
    },
  };
}

const names = new WeakMap<FcmCredential, string>();

/**
 * Identifies the account of a token. The name includes the key itself, because the names of an
 * account and its keys are public. A caller who writes them into a file of their own must not get
 * the account's token. Remembered per credential object, because every push asks with the
 * same object.
 */
function nameOf(credential: FcmCredential): string {
  const known = names.get(credential);
  if (known !== undefined) return known;
  const { clientEmail, privateKeyId, fingerprint } = credential;
  const name = `${clientEmail} ${privateKeyId} ${fingerprint}`;
  names.set(credential, name);
  return name;
}

/** `iat` is in seconds since the epoch. */
export function signAssertion(credential: FcmCredential, iat: number): string {
  const { clientEmail, privateKeyId, tokenUri, privateKey } = credential;
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iss: clientEmail, scope, aud: tokenUri, iat, exp: iat + assertionSeconds };
  const input = `${part({ alg: 'RS256', typ: 'JWT', kid: privateKeyId })}.${part(claims)}`;
  return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`;
}

function exchange(
  { transport, origin, path, clock, timeoutMs }: AccessTokenOptions,
  credential: FcmCredential,
  isWanted: () => boolean,
): Promise<OutboundResult> {
  const assertion = signAssertion(credential, Math.floor(clock.nowMs() / 1_000));
  const body = Buffer.from(new URLSearchParams({ grant_type: grantType, assertion }).toString());
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  return transport.request({ ...origin, path, headers, body, timeoutMs, isWanted });
}

function readGrant(result: OutboundResult): { token: string; lifetimeMs: number } | undefined {
  if ('transportError' in result || result.status < 200 || result.status >= 300) return undefined;
  const { access_token: token, expires_in: seconds } = readJson(result.body);
  // The token becomes a header value, so it must not contain a line break or a space.
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) return undefined;
  // A token without a known end could serve only once, which would cost an exchange per push.
  return typeof seconds === 'number' && seconds >= lifetimeSecondsLeast
    ? { token, lifetimeMs: seconds * 1_000 }
    : undefined;
}

function readFailure(result: OutboundResult, nowMs: number): RefusedOutcome {
  const provider = presentProviderAnswer('fcm', result);
  // No push was sent, so this failure leaves nothing unknown, unlike a push without an answer.
  if ('transportError' in result) return { ...unanswered(result, provider), errorCode: 'provider_unavailable' };
  const { status, headers } = result;
  // The body of a success may hold a token in an unexpected shape.
  const shown = status < 300 ? { ...provider, body: null } : provider;
  const answer = {
    status,
    errorCode: codeOfStatus(status),
    reason: reasonOf(shown),
    retryAfter: headerText(headers, 'retry-after'),
    latencyMs: Math.round(result.latencyMs),
  };
  return refused(answer, shown, nowMs);
}

function codeOfStatus(status: number): ErrorCode {
  if (status === 429) return 'rate_limited';
  return status >= 400 && status < 500 ? 'auth_failed' : 'provider_unavailable';
}

/**
 * The refusal of pushes until Google is asked again. `retryAfterMs` is that wait, as if Google had
 * asked for it.
 */
function presentFailure({ failure, failedUntilMs }: Account, nowMs: number): RefusedOutcome {
  if (failure === undefined) {
    const base = { kind: 'refused', errorCode: 'provider_unavailable', reason: null, latencyMs: 0 } as const;
    const provider = presentProviderAnswer('fcm', { transportError: 'reset', written: false, latencyMs: 0 });
    return { ...base, retryable: true, retryAfterMs: 1_000, provider };
  }
  if (!failure.retryable) return failure;
  return { ...failure, retryAfterMs: Math.min(Math.max(failedUntilMs - nowMs, 1_000), retryAfterMsMax) };
}

function readJson(body: string | null): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(body ?? '');
    return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
