// POST and GET /v1/messages, one message, its cancel. Parses, calls one operation, shapes the answer.
import { z } from 'zod';
import type { Caller } from '../apps/caller.ts';
import { channelIds } from '../channels/channel.ts';
import { type Issue, invalid, noSuch } from '../platform/api-error.ts';
import type { Sql } from '../platform/db.ts';
import { failpoint } from '../platform/failpoint.ts';
import type { ApiRequest, BoundRoute } from '../platform/http-server.ts';
import { decodeId, encodeId, type Uuid } from '../platform/ids.ts';
import { type Cursors, limitField, toPage } from '../platform/page.ts';
import type { Turns } from '../platform/turns.ts';
import { noQuery, validate } from '../platform/validate.ts';
import { type Plans, planNamed } from '../quotas/plan.ts';
import type { Accepted, AcceptMessage } from './accept-message.ts';
import { type AwaitDeps, awaitOutcomes } from './await-outcomes.ts';
import { type CancelDeps, cancelMessage } from './cancel-message.ts';
import { type DryRunDeps, dryRun } from './dry-run.ts';
import { type MessageRequest, messageRequestSchema, messageStatuses, reportOf } from './message.ts';
import type { MessageCounts } from './queries.ts';
import { findMessage, listMessages, type StoredMessage } from './stored-queries.ts';
import { sendWarnings } from './warnings.ts';

export interface MessageRouteDeps extends Omit<DryRunDeps, 'workSql'>, Pick<CancelDeps, 'teller'> {
  readonly sql: Sql;
  /** The pool of counts, and turns at it. */
  readonly countSql: Sql;
  readonly countTurns: Turns;
  /** For short transactions. */
  readonly txSql: Sql;
  readonly cursors: Cursors;
  readonly plans: Plans;
  readonly accept: AcceptMessage;
  readonly wait: AwaitDeps;
}

const mebibyte = 1024 * 1024;

export const messageListQuery = z.strictObject({
  limit: limitField(200),
  cursor: z.string().optional(),
  status: z.enum(messageStatuses).optional(),
});

export function messageRoutes(deps: MessageRouteDeps): BoundRoute<Caller>[] {
  return [
    {
      method: 'POST',
      path: '/v1/messages',
      access: 'server',
      bodyBytesMax: mebibyte,
      handle: (request) => postMessage(deps, request),
    },
    {
      method: 'GET',
      path: '/v1/messages',
      access: 'server',
      handle: (request) => getMessages(deps, request),
    },
    {
      method: 'GET',
      path: '/v1/messages/:id',
      access: 'server',
      async handle({ caller, params, query }) {
        validate(noQuery, query);
        const id = decodeId('msg', params['id'] ?? '');
        const message = id === undefined ? undefined : await findMessage(deps.sql, caller.appId, id);
        if (!message) throw noSuch('message', params['id'] ?? '');
        return presentMessage(message);
      },
    },
    {
      method: 'POST',
      path: '/v1/messages/:id/cancel',
      access: 'server',
      handle: (request) => postCancel(deps, request),
    },
  ];
}

/** There is nothing to say beyond the path. */
export const cancelRequestSchema = z.strictObject({}).optional();

async function postCancel(
  deps: MessageRouteDeps,
  { caller, params, query, body }: ApiRequest<Caller>,
): Promise<object> {
  validate(noQuery, query);
  validate(cancelRequestSchema, body);
  const id = decodeId('msg', params['id'] ?? '');
  if (id === undefined) throw noSuch('message', params['id'] ?? '');
  await cancelMessage({ sql: deps.txSql, clock: deps.clock, teller: deps.teller }, caller.appId, id);
  const message = await findMessage(deps.sql, caller.appId, id);
  if (!message) throw noSuch('message', params['id'] ?? '');
  return presentMessage(message);
}

async function postMessage(deps: MessageRouteDeps, request: ApiRequest<Caller>): Promise<object> {
  const { caller } = request;
  validate(noQuery, request.query);
  const message = validate(messageRequestSchema, request.body);
  const plan = planNamed(deps.plans, caller.plan);
  if (message.dry_run) {
    const dry = { ...deps, workSql: deps.countSql };
    return deps.countTurns.run(caller.appId, () => dryRun(dry, caller.appId, plan, message));
  }
  const key = readIdempotencyKey(request.header('idempotency-key'));
  const accepted = await deps.accept(caller, plan, message, key);
  if (accepted.runAt !== null) {
    await failpoint('message.before_reply');
    const scheduled = { id: encodeId('msg', accepted.id), status: 'scheduled', run_at: accepted.runAt };
    return accepted.isReplay ? { ...scheduled, replayed: true } : scheduled;
  }
  const counts = await request.aside(() => awaitOutcomes(deps.wait, caller.appId, accepted.id, accepted.claim));
  await failpoint('message.before_reply');
  return presentSent(accepted, message, counts);
}

/** A replay has the same fingerprint: its content is that of the first request. */
function presentSent({ id, isReplay }: Accepted, { content }: MessageRequest, counts: MessageCounts): object {
  const { audienceUnmatched } = counts;
  const warnings = sendWarnings(content, counts);
  return {
    id: encodeId('msg', id),
    status: 'sent',
    replayed: isReplay,
    report: reportOf(counts),
    ...(warnings.length > 0 && { warnings }),
    ...(audienceUnmatched > 0 && { audience_unmatched: audienceUnmatched }),
  };
}

/** Taken literally: quotes and case are part of it (contract 16). */
export const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

function readIdempotencyKey(values: readonly string[]): string | null {
  if (values.length === 0) return null;
  const [key] = values;
  if (values.length === 1 && key !== undefined && idempotencyKeyPattern.test(key)) return key;
  const issue: Issue = {
    path: ['idempotency-key'],
    code: 'invalid_format',
    message: 'Idempotency-Key is one header of 1 to 255 visible ASCII characters.',
  };
  throw invalid([issue]);
}

async function getMessages(deps: MessageRouteDeps, { caller, query }: ApiRequest<Caller>): Promise<object> {
  const { limit, cursor, status } = validate(messageListQuery, query);
  const scope = [caller.appId, '/v1/messages', status ?? null];
  const position = cursor === undefined ? undefined : deps.cursors.read(cursor, scope);
  const after = position ? { createdAt: String(position[0]), id: String(position[1]) as Uuid } : null;
  const rows = await listMessages(deps.sql, caller.appId, status ?? null, after, limit + 1);
  return toPage(
    rows,
    limit,
    (row) => {
      const { audience: _audience, content: _content, ...item } = presentMessage(row);
      return { ...item, title: row.title };
    },
    (last) => deps.cursors.write([last.createdAtText, last.id], scope),
  );
}

function presentMessage(message: StoredMessage) {
  const total = { accepted: 0, sent: 0, failed: 0, skipped: 0 };
  for (const channel of channelIds) {
    for (const name of ['accepted', 'sent', 'failed', 'skipped'] as const)
      total[name] += message.channels[channel][name];
  }
  return {
    id: encodeId('msg', message.id),
    status: message.status,
    status_reason: message.statusReason,
    name: message.name,
    metadata: message.metadata,
    created_by: message.createdBy,
    audience: message.audience,
    audience_unmatched: message.audienceUnmatched,
    content: message.content,
    idempotency_key: message.idempotencyKey,
    run_at: message.runAt,
    created_at: message.createdAt,
    started_at: message.startedAt,
    finished_at: message.finishedAt,
    expires_at: message.expiresAt,
    report: reportOf(total),
    // Key order is the contract's: jsonb keeps none.
    by_channel: Object.fromEntries(
      channelIds.map((channel) => {
        const { accepted, sent, failed, skipped } = message.channels[channel];
        return [channel, { accepted, sent, failed, skipped }];
      }),
    ),
    error_counts: message.errorCounts,
    engagement: { displayed: message.displayed, clicked: message.clicked, dismissed: message.dismissed },
  };
}
