// Messages parsed once for all of their batches in this process: a template costs its parsing once a message, not once a batch.
import { type CompiledContent, compileContent } from '../content/compile-content.ts';
import type { Sql } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { findPropertiesByKeys } from '../properties/queries.ts';
import type { MessageLedger } from './message-ledger.ts';

export interface CompiledMessage {
  readonly content: CompiledContent;
  readonly defaultUrl: string | null;
  /** Which columns of a person its templates read. */
  readonly columns: Awaited<ReturnType<typeof findPropertiesByKeys>>;
}

export interface CompiledMessages {
  get(appId: Uuid, messageId: Uuid): Promise<CompiledMessage>;
}

const compiledMax = 50;
/** The catalog may move a property to another column: a compiled message is not kept for longer. */
const compiledForMs = 10_000;

export function createCompiledMessages({ sql, ledger }: { sql: Sql; ledger: MessageLedger }): CompiledMessages {
  const kept = new Map<Uuid, { message: Promise<CompiledMessage>; until: number }>();
  const compile = async (appId: Uuid, messageId: Uuid): Promise<CompiledMessage> => {
    const found = await ledger.find(sql, appId, messageId);
    if (!found) throw new Error(`message ${messageId} of a batch does not exist`);
    const content = compileContent(found.content);
    const keys = [...content.propertyKeys];
    const columns = keys.length > 0 ? await findPropertiesByKeys(sql, appId, keys) : [];
    return { content, defaultUrl: found.defaultUrl, columns };
  };
  return {
    get(appId, messageId) {
      const known = kept.get(messageId);
      if (known && known.until > performance.now()) return known.message;
      if (kept.size >= compiledMax) kept.clear();
      const message = compile(appId, messageId);
      message.catch(() => kept.delete(messageId));
      kept.set(messageId, { message, until: performance.now() + compiledForMs });
      return message;
    },
  };
}
