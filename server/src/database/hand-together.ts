// Sends the last statements of a transaction together with its COMMIT. The rows that they lock are
// not held while this process sends or reads, so no other process waits for this one, even if it
// were stopped at that moment. Uses the driver's internals, as `driver-repairs.ts` does.
import type { Fragment, Tx } from './db.ts';
import { type Holder, isStatement, type Statement } from './driver-repairs.ts';

/**
 * Passes statements to a transaction's connection in one turn of the event loop, without waiting
 * for answers; the driver sends them in one write. A statement that is new to the connection is
 * described before, while nothing is locked yet.
 */
export async function handTogether(tx: Tx, holder: Holder, statements: readonly Fragment[]): Promise<void> {
  const described = holder.described ?? new Set();
  const unknown = statements.filter((statement) => !described.has(textOf(statement)));
  for (const statement of unknown) {
    const { strings, args } = statement as unknown as Statement;
    await tx(strings as TemplateStringsArray, ...(args as never[])).describe();
    described.add(textOf(statement));
  }
  // The description is answered before the connection accepts more than one statement at a time;
  // the answer to this statement comes after that.
  if (unknown.length > 0) await tx`SELECT 1`;
  for (const statement of statements) {
    neverSendAgain(statement as unknown as Statement);
    // The caller that awaits the transaction gets the refusal.
    statement.catch(() => undefined);
  }
}

/**
 * Keeps the driver from sending a statement again whose plan the server has lost. The statement
 * would run after the COMMIT, alone and permanently. The driver reads `retried` first.
 */
function neverSendAgain(statement: Statement): void {
  Object.defineProperty(statement, 'retried', {
    get() {
      statement.prepared = false;
      return undefined;
    },
  });
}

/**
 * Identifies a statement within this process; values are represented by the type that the driver
 * derives from them.
 */
function textOf(statement: unknown): string {
  const { strings, args } = statement as Statement;
  return strings.map((part, index) => (index === 0 ? part : textOfValue(args[index - 1]) + part)).join('');
}

function textOfValue(value: unknown): string {
  if (isStatement(value)) return textOf(value);
  const sample: unknown = Array.isArray(value) ? value[0] : value;
  return `$${sample instanceof Date || sample instanceof Uint8Array ? 'object' : typeof sample}`;
}
