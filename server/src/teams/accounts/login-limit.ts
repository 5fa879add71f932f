// Limits guesses of passwords and codes. After ten failures of an account within fifteen
// minutes each further failure makes the account wait, a second at first and twice as long each
// time, up to fifteen minutes. A client network waits after a hundred within fifteen minutes. A
// browser in which the person signed in before has a count of its own instead, so that strangers
// keep nobody out. The counts stand in the database, so all processes share them. An address counts
// with or without an account, so that nobody learns which addresses have accounts.
//
// An attempt is counted as a failure before anything is verified, and subtracted if it succeeds.
// Otherwise concurrent guesses would all pass before the first one counts.
import { createHash } from 'node:crypto';
import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { ApiError } from '../../ground/http/api-error.ts';
import { networkOf } from '../../ground/http/client-address.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import {
  deleteFailures,
  type Failures,
  lockFailures,
  subtractFailure,
  touchFailures,
  updateFailures,
} from './login-queries.ts';

const windowMs = 15 * 60_000;
const delayMsMax = 15 * 60_000;
/** An account's failures are forgotten after this time without one. */
const quietMs = 30 * 60_000;

interface Rule {
  /** The failures within the window that cause no wait yet. */
  readonly limit: number;
  /**
   * True: the count begins again with each window, so that many people of one network do not add
   * up.
   */
  readonly endsWithWindow: boolean;
}

const rules = {
  account: { limit: 10, endsWithWindow: false },
  browser: { limit: 10, endsWithWindow: false },
  session: { limit: 10, endsWithWindow: false },
  network: { limit: 100, endsWithWindow: true },
} as const satisfies Record<string, Rule>;

interface LimitDeps {
  readonly txSql: Sql;
  readonly clock: Clock;
}

/** The subjects to which an attempt's failure counts. */
export type Subjects = readonly (readonly [kind: keyof typeof rules, text: string])[];

/** An attempt at a password or a code. */
export interface Guess {
  readonly subjects: Subjects;
  /** Writes the audit entry of a failure. */
  recordFailure(tx: Tx): Promise<void>;
}

/**
 * The subjects of a sign-in. A null e-mail address: no account is named. `browserId`: the person
 * has signed in with this browser before.
 */
export function signInSubjects(email: string | null, address: string, browserId: string | null): Subjects {
  if (browserId !== null) return [['browser', browserId]];
  const network = ['network', networkOf(address)] as const;
  return email === null ? [network] : [['account', email], network];
}

/**
 * The subject of a check within a session. It is separate from the account's, so that failures of
 * strangers do not keep a signed-in person from changing the password.
 */
export function sessionSubjects(sessionId: Uuid): Subjects {
  return [['session', encodeId('ses', sessionId)]];
}

/** The wait after these failures, in milliseconds. Pure. */
export function waitMsAfter({ failures, since, lastAt, isAhead }: Failures, rule: Rule, nowMs: number): number {
  // Otherwise a person would wait as long as the clock was set back.
  if (failures < rule.limit || isAhead) return 0;
  const delayMs = Math.min(delayMsMax, 1000 * 2 ** (failures - rule.limit));
  const untilMs = lastAt.getTime() + delayMs;
  const endMs = rule.endsWithWindow ? Math.min(untilMs, since.getTime() + windowMs) : untilMs;
  return Math.max(0, endMs - nowMs);
}

/**
 * Verifies a password or a code as an attempt. Only a `wrong_credentials` of `verify` counts. After
 * a success with `isWhole` the failures of the account or the session are forgotten. Throws the 429
 * while a subject has to wait; then nothing is verified.
 */
export async function attempt<Result>(
  deps: LimitDeps,
  { subjects, recordFailure }: Guess,
  verify: () => Promise<Result>,
  isWhole: (result: Result) => boolean = () => true,
): Promise<Result> {
  const counted = await countAttempt(deps, subjects);
  let result: Result;
  try {
    result = await verify();
  } catch (error) {
    const isWrong = error instanceof ApiError && error.code === 'wrong_credentials';
    // The error of the check says more than an error of the subtraction.
    if (!isWrong) await subtract(deps, counted).catch(() => undefined);
    else {
      await transaction(deps.txSql, async (tx) => {
        // The wait begins now, after the password was hashed.
        for (const { hash } of counted) await touchFailures(tx, deps.clock, hash);
        await recordFailure(tx);
      });
    }
    throw error;
  }
  if (!isWhole(result)) await subtract(deps, counted);
  else {
    await subtract(
      deps,
      counted.filter(({ kind }) => kind === 'network'),
    );
    for (const { kind, hash } of counted) if (kind !== 'network') await deleteFailures(deps.txSql, hash);
  }
  return result;
}

/** Forgets the failures of an account, after a reset. */
export async function forgetFailures(sql: Sql | Tx, email: string): Promise<void> {
  await deleteFailures(sql, hashOf('account', email));
}

interface Counted {
  readonly kind: keyof typeof rules;
  readonly hash: Buffer;
  readonly former: Failures | null;
}

/** The rows are locked in the order of the subjects: an account's before its network's. */
async function countAttempt({ txSql, clock }: LimitDeps, subjects: Subjects): Promise<readonly Counted[]> {
  return transaction(txSql, async (tx) => {
    const counted: Counted[] = [];
    for (const [kind, text] of subjects) {
      const [rule, hash, nowMs] = [rules[kind], hashOf(kind, text), clock.nowMs()];
      const former = await lockFailures(tx, clock, hash);
      if (former) {
        const waitMs = waitMsAfter(former, rule, nowMs);
        if (waitMs > 0) {
          const message = 'Too many failed sign-ins: wait, or let an operator make a link that resets the password.';
          throw new ApiError('rate_limited', { message, retryAfterMs: Math.ceil(waitMs) });
        }
        const isOver = isForgotten(former, rule, nowMs);
        await updateFailures(tx, clock, hash, isOver ? null : former);
        counted.push({ kind, hash, former: isOver ? null : former });
      } else counted.push({ kind, hash, former: null });
    }
    return counted;
  });
}

function isForgotten({ failures, since, lastAt, isAhead }: Failures, rule: Rule, nowMs: number): boolean {
  if (isAhead) return true;
  const isWindowOver = since.getTime() <= nowMs - windowMs;
  return lastAt.getTime() < nowMs - quietMs || (isWindowOver && (rule.endsWithWindow || failures < rule.limit));
}

async function subtract({ txSql }: LimitDeps, counted: readonly Counted[]): Promise<void> {
  for (const { hash, former } of counted) await subtractFailure(txSql, hash, former);
}

function hashOf(kind: keyof typeof rules, text: string): Buffer {
  return createHash('sha256').update(`${kind}:${text}`).digest();
}
