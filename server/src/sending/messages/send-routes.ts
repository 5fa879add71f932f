// POST /v1/messages: send now, schedule, or a dry run. Calls one operation, shapes the answer.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import { failpoint } from '../../ground/host/failpoint.ts';
import { invalid } from '../../ground/http/api-error.ts';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component, count, instant, messageId } from '../../ground/http/schemas.ts';
import type { Turns } from '../../ground/http/turns.ts';
import { encodeId } from '../../ground/values/ids.ts';
import type { Issue } from '../../ground/values/issue.ts';
import type { Caller } from '../../teams/apps/caller.ts';
import { type Plans, planNamed } from '../../teams/quotas/plan.ts';
import { channelIds } from '../channels/channel.ts';
import type { Accepted, AcceptMessage } from './accept-message.ts';
import { type AwaitDeps, awaitOutcomes } from './await-outcomes.ts';
import { type DryRunDeps, dryRun, dryRunAnswer } from './dry-run.ts';
import { type MessageRequest, messageRequestSchema, report, reportOf } from './message.ts';
import type { MessageCounts } from './queries.ts';
import { sendWarningCodes, sendWarnings } from './warnings.ts';

export interface SendRouteDeps extends Omit<DryRunDeps, 'workSql' | 'cancel'> {
  /** The pool of reads. */
  readonly sql: Sql;
  /** The pool of counts, and the turns for its use. */
  readonly countSql: Sql;
  readonly countTurns: Turns;
  readonly plans: Plans;
  readonly accept: AcceptMessage;
  readonly wait: AwaitDeps;
}

const acceptedMessage = component(
  'AcceptedMessage',
  z.strictObject({
    id: messageId,
    status: z.literal('sent').describe('How the message was accepted. The message itself has its present status.'),
    replayed: z.boolean().describe('True for a repeated Idempotency-Key: nothing was sent again.'),
    report,
    warnings: z
      .array(
        z.strictObject({
          code: z.enum(sendWarningCodes),
          channel: z.enum(channelIds).optional(),
          message: z.string(),
        }),
      )
      .min(1)
      .optional()
      .describe('Why the message reached fewer devices than it may seem; absent without a reason.'),
    audience_unmatched: count
      .min(1)
      .optional()
      .describe('Ids of the audience that name no active device; only when there are any.'),
  }),
);
const scheduledMessage = component(
  'ScheduledMessage',
  z.strictObject({
    id: messageId,
    status: z.literal('scheduled').describe('How the message was accepted, also after it has run.'),
    run_at: instant,
    replayed: z.literal(true).optional().describe('Only for a repeated Idempotency-Key: nothing was scheduled again.'),
  }),
);
const messageAnswer = component('MessageAnswer', z.union([acceptedMessage, scheduledMessage, dryRunAnswer]), {
  id: 'msg_02y9GVDsTuJUi2BOoCH5G3',
  status: 'sent',
  replayed: false,
  report: { accepted: 3, sent: 2, failed: 1, skipped: 0 },
});

/** Taken literally: quotes and case are part of it (contract 16). */
const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;

const route = routesWith<SendRouteDeps, Caller>({ tag: 'Messages', access: 'server' });

export const sendRoutes = [
  route('sendMessage', 'POST /v1/messages', {
    bodyBytesMax: 1024 * 1024,
    summary: 'Send a message now, or schedule it',
    description:
      'Without `send_at`, waits up to SEND_WAIT_MS (20 s) for all outcomes, then answers with the numbers so far. With it, answers at once: audience, quota and profiles are those of the run. The body may have 1 MiB.',
    headers: [
      {
        name: 'Idempotency-Key',
        description: 'A repeat with the same key and the same request answers the first message and sends nothing.',
        schema: { type: 'string', pattern: idempotencyKeyPattern.source },
      },
    ],
    body: messageRequestSchema,
    answers: ok(
      'Accepted, and mostly done; or, with `send_at`, scheduled; or, with `dry_run`, what a send would do.',
      messageAnswer,
    ),
    refusals: ['not_found', 'quota_exceeded'],
  }).handle(async (deps, { caller, body: message, header, aside, gone }) => {
    const plan = planNamed(deps.plans, caller.plan);
    if (message.dry_run) {
      const dry = { ...deps, workSql: deps.countSql, cancel: { signal: gone(), sql: deps.sql } };
      return deps.countTurns.run(caller.appId, () => dryRun(dry, caller.appId, plan, message));
    }
    const accepted = await deps.accept(caller, plan, message, readIdempotencyKey(header('idempotency-key')));
    if (accepted.runAt !== null) {
      await failpoint('message.before_reply');
      const id = encodeId('msg', accepted.id);
      return { id, status: 'scheduled', run_at: accepted.runAt, ...(accepted.isReplay && { replayed: true }) };
    }
    const counts = await aside(() => awaitOutcomes(deps.wait, caller.appId, accepted.id, accepted.claim));
    await failpoint('message.before_reply');
    return presentSent(accepted, message, counts);
  }),
];

/** A replay has the same fingerprint: its content is that of the first request. */
function presentSent({ id, isReplay }: Accepted, { content }: MessageRequest, counts: MessageCounts) {
  const { audienceUnmatched } = counts;
  const warnings = sendWarnings(content, counts);
  return {
    id: encodeId('msg', id),
    status: 'sent' as const,
    replayed: isReplay,
    report: reportOf(counts),
    ...(warnings.length > 0 && { warnings }),
    ...(audienceUnmatched > 0 && { audience_unmatched: audienceUnmatched }),
  };
}

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
