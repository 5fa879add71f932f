// Detects a pooler such as PgBouncer between this process and its database. A pooler that gives
// each transaction another connection cannot be used. One that keeps a connection for each session
// can, though it may drop the settings of sessions.
import { randomBytes } from 'node:crypto';
import { openPool } from './db.ts';

export class PoolingError extends Error {
  override readonly name = 'PoolingError';
}

const statementTimeoutMs = 10_000;
/** Tries, because another client may take the connection in between. */
const looks = 3;

/**
 * Returns a warning when the settings of sessions do not arrive. Throws, with a sentence, when
 * sessions are shared: notifications would be lost, locks of migrations would stay, and limits of
 * one statement would apply to others.
 */
export async function checkPooling(url: string): Promise<string | undefined> {
  const open = () => openPool({ url, connectionsMax: 1, name: 'carillon start', statementTimeoutMs });
  const [one, other] = [open(), open()];
  try {
    for (let look = 0; look < looks; look++) {
      // A setting of one session must be invisible to another.
      const word = randomBytes(8).toString('hex');
      await one`SELECT set_config('carillon.session', ${word}, false)`;
      const [row] = await other<{ heard: string | null }[]>`SELECT current_setting('carillon.session', true) AS heard`;
      if (row?.heard !== word) continue;
      throw new PoolingError(
        'DATABASE_URL leads to a pooler in transaction or statement mode, which cannot carry LISTEN, session locks and settings: use its session mode (PgBouncer: pool_mode = session), or the database itself.',
      );
    }
    const [limit] = await one<{ limit: string }[]>`
      SELECT current_setting('idle_in_transaction_session_timeout') AS limit`;
    if (limit?.limit !== '0') return undefined;
    return "a pooler before the database drops the settings of sessions: what a stopped process has locked stays locked, and statements end by Carillon's own limits alone. Set the first for the role: ALTER ROLE … SET idle_in_transaction_session_timeout = '4s'";
  } finally {
    await Promise.all([one, other].map((each) => each.end({ timeout: 1 })));
  }
}
