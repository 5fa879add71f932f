// Collects the facts of a run when all is quiet: what the API reports, what is stored, and a few
// more. It reads the tables directly, in place of a caller that would page through them.

import type { Sql } from '@carillon/postgres';
import type { MixedApp } from '../../../rig/src/mixed-app.ts';
import { readInPortions } from '../../../rig/src/portions.ts';
import { decodeId, encodeId, type Uuid } from '../../../server/src/ground/values/ids.ts';
import { codeOfNumber, statusOfNumber } from '../../../server/src/sending/delivery/delivery.ts';
import { kindOfNumber } from '../../../server/src/sending/webhooks/webhook.ts';
import {
  type DeliveryLine,
  fileNames,
  type MessageLine,
  type OutboxLine,
  type RunFacts,
  writeLines,
} from './history-files.ts';

export interface CollectPlan {
  readonly directory: string;
  readonly sql: Sql;
  readonly apps: readonly MixedApp[];
  readonly apiUrl: string;
  readonly facts: Pick<RunFacts, 'windowMs' | 'requested'>;
}

export async function collect(plan: CollectPlan): Promise<void> {
  await collectMessages(plan);
  await collectDeliveries(plan);
  await collectOutbox(plan);
  await collectFacts(plan);
}

async function collectMessages({ directory, apiUrl, apps }: CollectPlan): Promise<void> {
  const lines = writeLines<MessageLine>(directory, fileNames.messages);
  for (const { serverKey } of apps) {
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: { data: MessageLine[]; next_cursor: string | null } = await get(
        `${apiUrl}/v1/messages?limit=200${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
        serverKey,
      );
      for (const { id, title, status, report } of page.data) await lines.write({ id, title, status, report });
      cursor = page.next_cursor;
    }
  }
  await lines.close();
}

async function get<Json>(url: string, key: string): Promise<Json> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response.json() as Promise<Json>;
}

const rowsAtOnce = 5000;

async function collectDeliveries({ directory, sql }: CollectPlan): Promise<void> {
  const lines = writeLines<DeliveryLine>(directory, fileNames.deliveries);
  type Read = { messageId: Uuid; deviceId: Uuid; status: number; errorCode: number | null; doneAt: Date };
  const rows = sql`
    SELECT b.message_id, d.device_id, d.status, d.error_code, d.done_at FROM deliveries d JOIN batches b ON b.id = d.batch_id`;
  for await (const some of readInPortions<Read>(sql, rows, rowsAtOnce)) {
    for (const { messageId, deviceId, status, errorCode, doneAt } of some) {
      const delivery = [encodeId('msg', messageId), encodeId('dev', deviceId), statusOfNumber(status)] as const;
      await lines.write([...delivery, codeOfNumber(errorCode), doneAt.getTime()]);
    }
  }
  await lines.close();
}

async function collectOutbox({ directory, sql }: CollectPlan): Promise<void> {
  const lines = writeLines<OutboxLine>(directory, fileNames.outbox);
  type Read = { messageId: Uuid; deviceId: Uuid; kind: number };
  const rows = sql`
    SELECT message_id, device_id, kind FROM webhook_events`;
  for await (const some of readInPortions<Read>(sql, rows, rowsAtOnce)) {
    for (const { messageId, deviceId, kind } of some) {
      await lines.write([encodeId('msg', messageId), encodeId('dev', deviceId), kindOfNumber(kind)]);
    }
  }
  await lines.close();
}

async function collectFacts({ directory, sql, apps, facts }: CollectPlan): Promise<void> {
  const lines = writeLines<RunFacts>(directory, fileNames.facts);
  const appIds = apps.map(({ id }) => decodeId('app', id) ?? '');
  const [row] = await sql<Pick<RunFacts, 'quotaUsed' | 'batchesClaimed' | 'batchesWaiting' | 'timedOut'>[]>`
    SELECT (SELECT coalesce(sum(used), 0)::float8 FROM usage WHERE app_id = ANY(${appIds}::uuid[])) AS quota_used,
      (SELECT count(*)::int FROM deliveries WHERE timeline::text LIKE '%"error_code":"timeout"%') AS timed_out,
      count(*) FILTER (WHERE state = 'claimed')::int AS batches_claimed,
      count(*) FILTER (WHERE state = 'waiting')::int AS batches_waiting
    FROM batches`;
  if (!row) throw new Error('the database says nothing of the run');
  await lines.write({ ...facts, ...row });
  await lines.close();
}
