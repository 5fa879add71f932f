// The messages compiled in this process, shared by all of their batches: a template is parsed once
// per message and not once per batch.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { findPropertiesByKeys } from '../../people/properties/queries.ts';
import { type CompiledContent, compileContent } from '../content/compile-content.ts';
import type { MessageLedger } from './message-ledger.ts';

export interface CompiledMessage {
  readonly content: CompiledContent;
  readonly defaultUrl: string | null;
  /** The columns of a person's properties that the templates read. */
  readonly columns: Awaited<ReturnType<typeof findPropertiesByKeys>>;
}

export interface CompiledMessages {
  get(appId: Uuid, messageId: Uuid): Promise<CompiledMessage>;
}

const compiledMax = 50;
/**
 * Milliseconds that a compiled message is kept. The catalog may move a property to another column
 * meanwhile, also while the host sleeps.
 */
const compiledForMs = 10_000;

export function createCompiledMessages({
  sql,
  ledger,
  clock,
}: {
  readonly sql: Sql;
  readonly ledger: MessageLedger;
  readonly clock: Pick<Clock, 'steadyMs'>;
}): CompiledMessages {
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
      if (known && known.until > clock.steadyMs()) return known.message;
      if (kept.size >= compiledMax) kept.clear();
      const message = compile(appId, messageId);
      message.catch(() => kept.delete(messageId));
      kept.set(messageId, { message, until: clock.steadyMs() + compiledForMs });
      return message;
    },
  };
}
