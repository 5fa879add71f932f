// Checks and counts everything that a send would, and neither sends nor stores anything (contract
// 5.1).

import { type Cancel, cancelableTransaction } from '@carillon/postgres';
import { z } from 'zod';
import { readNowMs } from '../../ground/database/clock.ts';
import { component, count, instant } from '../../ground/http/schemas.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { usersEstimated } from '../../people/audience/audience.ts';
import { countAudience } from '../../people/audience/count-audience.ts';
import { resolveAudience } from '../../people/segments/resolve-audience.ts';
import { findConfiguredChannels } from '../../teams/apps/credential-queries.ts';
import { describeQuota, describeShortage } from '../../teams/quotas/monthly-quota.ts';
import type { Plan } from '../../teams/quotas/plan.ts';
import { channelIds } from '../channels/channel.ts';
import { compileContent } from '../content/compile-content.ts';
import { sendWindowMs } from '../delivery/send-window.ts';
import { countDueDeliveries, type DueDeliveriesDeps } from './due-deliveries.ts';
import type { MessageRequest } from './message.ts';
import { describeLowRate } from './rate.ts';
import { scheduleOf } from './schedule.ts';
import { channelNotConfigured, contentWarnings, dryRunWarningCodes, emptyAudience, type Warning } from './warnings.ts';

export interface DryRunDeps extends DueDeliveriesDeps {
  /** Ends the count of the audience when the caller has gone. */
  readonly cancel: Cancel;
}

export const dryRunAnswer = component(
  'DryRun',
  z.strictObject({
    dry_run: z.literal(true),
    count: count.describe('Active devices that a send would reach.'),
    users: count,
    users_estimated: usersEstimated,
    by_channel: z.strictObject({ webpush: count, apns: count, fcm: count }),
    quota: z
      .strictObject({
        plan: z.string(),
        limit: count,
        used: count,
        requested: count,
        fits: z.boolean(),
        resets_at: instant,
      })
      .nullable()
      .describe('Null on a plan without one.'),
    warnings: z.array(
      z.strictObject({
        code: z.enum(dryRunWarningCodes),
        channel: z.enum(channelIds).optional(),
        message: z.string(),
        limit: z.int().min(1).optional().describe('With `rate_too_low`: the least `per_second` that is fast enough.'),
      }),
    ),
  }),
);

export async function dryRun(deps: DryRunDeps, appId: Uuid, plan: Plan, request: MessageRequest) {
  const { workSql: sql, clock } = deps;
  const nowMs = await readNowMs(sql, clock);
  if (request.send_at) scheduleOf({ ...request, send_at: request.send_at }, nowMs);
  const audience = await resolveAudience(sql, appId, request.audience, request.exclude_segment_id ?? null);
  const { web, ios, android, devices, users, isEstimated } = await cancelableTransaction(sql, deps.cancel, (tx) =>
    countAudience({ tx, clock, appId }, audience),
  );
  const byChannel = { webpush: web, apns: ios, fcm: android };
  const quota = await describeQuota({ sql, clock }, appId, plan, devices);
  const configured = await findConfiguredChannels(sql, appId);
  const content = compileContent(request.content);

  const warnings: Warning<(typeof dryRunWarningCodes)[number]>[] = [];
  if (devices === 0) warnings.push(emptyAudience);
  for (const channel of channelIds) {
    if (byChannel[channel] > 0 && !configured.has(channel)) {
      warnings.push(channelNotConfigured(channel, byChannel[channel], 'would be skipped'));
    }
  }
  warnings.push(...contentWarnings(request.content, content));
  if (request.per_second) {
    const due = await countDueDeliveries(deps, appId, request, nowMs);
    const low = describeLowRate(request.per_second, due, sendWindowMs(content.largestTtlSeconds));
    if (low) warnings.push({ code: 'rate_too_low', ...low });
  }
  if (quota && !quota.fits) {
    const left = Math.max(0, quota.limit - quota.used);
    warnings.push({
      code: 'quota_exceeded',
      message: describeShortage(plan, quota.requested, left),
    });
  }
  return {
    dry_run: true as const,
    count: devices,
    users,
    ...(isEstimated && { users_estimated: true as const }),
    by_channel: byChannel,
    quota,
    warnings,
  };
}
