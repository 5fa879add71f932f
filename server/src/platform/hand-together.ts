// The last statements of a transaction, sent together with its COMMIT: nothing that they lock is held while this process is asked or
// heard, so no other process waits for it, were it stopped at that very moment. Reaches into the driver as `driver-repairs.ts` does.
import type { Fragment, Tx } from './db.ts';
import { type Holder, isStatement, type Statement } from './driver-repairs.ts';

/**
 * Hands statements to the connection of a transaction without waiting for answers in between: in one turn of the event loop, which
 * the driver puts on the wire as one. What the driver asks about a statement that is new to the connection is asked before, when
 * nothing of them is locked yet.
 */
export async function handTogether(tx: Tx, holder: Holder, statements: readonly Fragment[]): Promise<void> {
  const described = holder.described ?? new Set();
  const unknown = statements.filter((statement) => !described.has(textOf(statement)));
  for (const statement of unknown) {
    const { strings, args } = statement as unknown as Statement;
    await tx(strings as TemplateStringsArray, ...(args as never[])).describe();
    described.add(textOf(statement));
  }
  // A description is answered before the connection is free for more than one statement: this is answered after.
  if (unknown.length > 0) await tx`SELECT 1`;
  for (const statement of statements) {
    neverSendAgain(statement as unknown as Statement);
    // Whoever awaits the transaction hears of a refusal.
    statement.catch(() => undefined);
  }
}

/**
 * A statement whose plan the server has lost is sent again by the driver: behind the COMMIT, where it would stand alone and for good.
 * The driver asks first whether it has done so before.
 */
function neverSendAgain(statement: Statement): void {
  Object.defineProperty(statement, 'retried', {
    get() {
      statement.prepared = false;
      return undefined;
    },
  });
}

/** What tells one statement of this process from another; of values, what the driver takes for their type. */
function textOf(statement: unknown): string {
  const { strings, args } = statement as Statement;
  return strings.map((part, index) => (index === 0 ? part : textOfValue(args[index - 1]) + part)).join('');
}

function textOfValue(value: unknown): string {
  if (isStatement(value)) return textOf(value);
  const sample: unknown = Array.isArray(value) ? value[0] : value;
  return `$${sample instanceof Date || sample instanceof Uint8Array ? 'object' : typeof sample}`;
}
