// Failed sign-ins: after ten of an account within fifteen minutes each further one makes the
// account wait, a second at first and twice as long each time, up to fifteen minutes. A client network
// waits after a hundred. The counts stand in the database, so all processes share them. An address
// counts whether there is an account or not, so that nobody learns which there are.
import { createHash } from 'node:crypto';
import type { Clock } from '../database/clock.ts';
import type { Sql, Tx } from '../database/db.ts';
import { ApiError } from '../http/api-error.ts';
import { networkOf } from '../http/client-address.ts';
import { addFailure, deleteFailures, findFailures } from './login-queries.ts';

const delayMsMax = 15 * 60_000;
const limits = { account: 10, network: 100 } as const;

interface LimitDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
}

interface Attempt {
  readonly email: string;
  readonly address: string;
}

/** Milliseconds to wait after the last of so many failures. Pure. */
export function delayMsAfter(failures: number, limit: number): number {
  return failures < limit ? 0 : Math.min(delayMsMax, 1000 * 2 ** (failures - limit));
}

/** Throws the 429 while the account or the network has to wait. The password is not looked at. */
export async function checkDelay({ sql, clock }: LimitDeps, attempt: Attempt): Promise<void> {
  for (const [subject, limit] of subjectsOf(attempt)) {
    const found = await findFailures(sql, clock, subject);
    if (!found) continue;
    const waitMs = found.lastAt.getTime() + delayMsAfter(found.failures, limit) - clock.nowMs();
    if (waitMs > 0) {
      const message = 'Too many failed sign-ins: wait, or let an operator make a link that resets the password.';
      throw new ApiError('rate_limited', { message, retryAfterMs: Math.ceil(waitMs) });
    }
  }
}

/** Counts a failure of the account and of the network. */
export async function noteFailure({ txSql, clock }: LimitDeps, attempt: Attempt): Promise<void> {
  for (const [subject] of subjectsOf(attempt)) await addFailure(txSql, clock, subject);
}

/** Forgets the failures of an account, after a sign-in or a reset. */
export async function forgetFailures(sql: Sql | Tx, email: string): Promise<void> {
  await deleteFailures(sql, subjectOf('account', email));
}

function subjectsOf({ email, address }: Attempt): readonly (readonly [Buffer, number])[] {
  return [
    [subjectOf('account', email), limits.account],
    [subjectOf('network', networkOf(address)), limits.network],
  ];
}

function subjectOf(kind: keyof typeof limits, text: string): Buffer {
  return createHash('sha256').update(`${kind}:${text}`).digest();
}
