// Detects a pooler such as PgBouncer between this process and its database. A pooler that gives
// each transaction another connection cannot be used. One that keeps a connection for each session
// can: a session brings its settings with it (`db.ts`).
import { randomBytes } from 'node:crypto';
import { getValue } from './answer.ts';
import { connect } from './db.ts';

export class PoolingError extends Error {
  override readonly name = 'PoolingError';
}

const statementTimeoutMs = 10_000;
/** The number of tries, because another client may take the connection in between. */
const looks = 3;

/**
 * Throws, with a sentence, when sessions are shared: notifications would be lost, locks of
 * migrations would stay, and limits of one statement would apply to others.
 */
export async function checkPooling(url: string): Promise<void> {
  const open = () => connect({ url, name: 'pooling', statementTimeoutMs });
  const one = await open();
  try {
    const other = await open();
    try {
      for (let look = 0; look < looks; look++) {
        // A setting of one session must be invisible to another.
        const word = randomBytes(8).toString('hex');
        await one`SELECT set_config('pooling.word', ${word}, false)`;
        if ((await getValue(other`SELECT current_setting('pooling.word', true)`)) !== word) continue;
        throw new PoolingError(
          'DATABASE_URL leads to a pooler in transaction or statement mode, which cannot carry LISTEN, session locks and settings: use its session mode (PgBouncer: pool_mode = session), or the database itself.',
        );
      }
    } finally {
      other.release();
    }
  } finally {
    one.release();
  }
}
