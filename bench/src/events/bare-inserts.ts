// Measures the most rows that the same database takes: multi-row inserts of fifty events, one after
// another, on a few connections, each durable, into a table like a month of `events`. There is no
// HTTP, no lookup of ids and no counting.

import { openPool, type Sql } from '@carillon/postgres';
import { mintUuid } from '../../../server/src/ground/values/ids.ts';
import { ensurePartitionsAt } from '../../../server/src/insight/events/partitions.ts';
import { insertEvents } from '../../../server/src/insight/events/queries.ts';
import { serveParent } from '../child-end.ts';
import { makeEvent } from './make-event.ts';

export type ToBareInserts =
  | {
      readonly type: 'open';
      readonly databaseUrl: string;
      readonly appId: string;
      readonly deviceIds: readonly string[];
    }
  | { readonly type: 'run'; readonly seconds: number; readonly connections: number };

export interface BareRun {
  readonly events: number;
  readonly seconds: number;
}

const eventsAtOnce = 50;
/** The rows go into a partition of their own, at a time that nothing else reads. */
const fromMs = Date.parse('2001-01-01T00:00:00Z');
let opened: { readonly sql: Sql; readonly appId: string; readonly deviceIds: readonly string[] } | undefined;
let made = 0;

serveParent(async (question: ToBareInserts): Promise<BareRun | undefined> => {
  if (question.type === 'run') return run(question.seconds, question.connections);
  const { databaseUrl: url, appId, deviceIds } = question;
  const sql = openPool({ url, connectionsMax: 8, name: 'bare inserts', statementTimeoutMs: 60_000 });
  await ensurePartitionsAt(sql, { atMs: fromMs, nowMs: Date.now(), waitMs: 2_000 });
  opened = { sql, appId, deviceIds };
  return undefined;
});

async function run(seconds: number, connections: number): Promise<BareRun> {
  const startedAt = performance.now();
  const until = startedAt + seconds * 1000;
  const counts = await Promise.all(Array.from({ length: connections }, () => insertUntil(until)));
  return {
    events: counts.reduce((sum, count) => sum + count, 0),
    seconds: (performance.now() - startedAt) / 1000,
  };
}

async function insertUntil(until: number): Promise<number> {
  if (!opened) throw new Error('nobody said where to insert');
  const { sql, appId, deviceIds } = opened;
  let count = 0;
  while (performance.now() < until) {
    const now = new Date();
    const events = Array.from({ length: eventsAtOnce }, () => {
      const { name, deviceId, properties } = makeEvent(deviceIds, made++, '');
      const { amount, currency } = properties;
      return {
        id: mintUuid(),
        subjectId: deviceId,
        hasSubject: true,
        name,
        deviceId,
        externalId: null,
        atMs: fromMs + (now.getTime() % 1_000_000_000),
        propertiesText: JSON.stringify(properties),
        purchase: name === 'purchase' ? { amount: String(amount), currency: String(currency) } : null,
      };
    });
    await insertEvents(sql, appId, events);
    count += events.length;
  }
  return count;
}
