// Everything a send would check and count, with nothing sent and nothing stored (contract 5.1).

import { findConfiguredChannels } from '../apps/queries.ts';
import { countAudience } from '../audience/queries.ts';
import { type ChannelId, channelIds } from '../channels/channel.ts';
import { channels } from '../channels/channels.ts';
import { buildPayload } from '../channels/webpush/payload.ts';
import { compileContent } from '../content/compile-content.ts';
import { localesOf } from '../content/content.ts';
import { sendWindowMs } from '../delivery/send-window.ts';
import { readNowMs } from '../platform/clock.ts';
import { encodeId, mintUuid, type Uuid } from '../platform/ids.ts';
import { describeQuota, describeShortage } from '../quotas/monthly-quota.ts';
import type { Plan } from '../quotas/plan.ts';
import { resolveAudience } from '../segments/resolve-audience.ts';
import { countDueDeliveries, type DueDeliveriesDeps } from './due-deliveries.ts';
import type { MessageRequest } from './message.ts';
import { describeLowRate } from './rate.ts';
import { scheduleOf } from './schedule.ts';

export type DryRunDeps = DueDeliveriesDeps;

export const warningCodes = [
  'channel_not_configured',
  'empty_audience',
  'large_payload',
  'url_dropped',
  'rate_too_low',
  'quota_exceeded',
] as const;

interface Warning {
  readonly code: (typeof warningCodes)[number];
  readonly channel?: ChannelId;
  readonly message: string;
  /** Of `rate_too_low`: the least that would do. */
  readonly limit?: number;
}

/** Firefox on Android takes no more than this (providers 1.1). */
const largePayloadBytes = 2744;

export async function dryRun(deps: DryRunDeps, appId: Uuid, plan: Plan, request: MessageRequest): Promise<object> {
  const { workSql: sql, clock } = deps;
  const nowMs = await readNowMs(sql, clock);
  if (request.send_at) scheduleOf({ ...request, send_at: request.send_at }, nowMs);
  const { web, ios, android, users } = await countAudience(
    { tx: sql, clock, appId },
    await resolveAudience(sql, appId, request.audience, request.exclude_segment_id ?? null),
  );
  const byChannel = { webpush: web, apns: ios, fcm: android };
  const count = web + ios + android;
  const quota = await describeQuota({ sql, clock }, appId, plan, count);
  const configured = await findConfiguredChannels(sql, appId);
  const content = compileContent(request.content);

  const warnings: Warning[] = [];
  if (count === 0) warnings.push({ code: 'empty_audience', message: 'No active device is in this audience.' });
  for (const channel of channelIds) {
    const devices = byChannel[channel];
    if (devices > 0 && !configured.has(channel)) {
      const skipped = devices === 1 ? '1 device would be skipped' : `${devices} devices would be skipped`;
      const message = `${skipped}: ${nameOf(channel)} has no credential.`;
      warnings.push({ code: 'channel_not_configured', channel, message });
    }
  }
  const bytes = payloadBytes(request, content);
  if (bytes > largePayloadBytes) {
    const message = `The payload is about ${bytes} bytes; Firefox on Android takes ${largePayloadBytes}.`;
    warnings.push({ code: 'large_payload', channel: 'webpush', message });
  }
  if (content.dropsUrl) {
    const message = 'Web push opens http and https only: this url is left out there.';
    warnings.push({ code: 'url_dropped', channel: 'webpush', message });
  }
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
  return { dry_run: true, count, users, by_channel: byChannel, quota, warnings };
}

function nameOf(channel: ChannelId): string {
  return channels.find(({ id }) => id === channel)?.name ?? channel;
}

/** The largest web push payload over all languages, for a person without values. */
function payloadBytes(request: MessageRequest, content: ReturnType<typeof compileContent>): number {
  const nobody = {
    firstName: null,
    externalId: null,
    country: null,
    language: null,
    timezone: null,
    properties: new Map(),
  };
  const sizes = localesOf(request.content).map((locale) => {
    const rendered = content.render('webpush', nobody, locale);
    if (rendered.kind !== 'content') return 0;
    const push = {
      credential: undefined,
      token: '',
      messageId: encodeId('msg', mintUuid()),
      deviceId: encodeId('dev', mintUuid()),
      receiptToken: 'x'.repeat(87),
      clickUrl: null,
      content: rendered.content,
      ttlSeconds: rendered.content.ttl,
    };
    return buildPayload(push, false).length;
  });
  return Math.max(0, ...sizes);
}
