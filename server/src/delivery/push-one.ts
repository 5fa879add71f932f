// One person: render, mint the receipt token, push, name the outcome. Everything a delivery can come to is a value here;
// nothing is thrown and nothing is written.
import type { OpenCredential } from '../apps/credentials.ts';
import {
  type ChannelId,
  channelOfPlatform,
  type Environment,
  type Outcome,
  type Platform,
} from '../channels/channel.ts';
import type { ErrorCode } from '../channels/error-code.ts';
import { type CompiledContent, targetUrlsOf } from '../content/compile-content.ts';
import type { ChannelContent } from '../content/content.ts';
import { languageOfDelivery } from '../content/locales.ts';
import type { Person } from '../content/template.ts';
import type { Clock } from '../platform/clock.ts';
import { failpoint } from '../platform/failpoint.ts';
import { encodeId, type Uuid } from '../platform/ids.ts';
import type { ClaimedBatch } from './batch.ts';
import { type Attempt, presentAnswer, type SkipReason } from './delivery.ts';
import { type Lanes, laneOf } from './lanes.ts';
import { retryAtMs } from './retry.ts';
import { sendWindowMs, ttlLeftSeconds } from './send-window.ts';
import type { Senders } from './senders.ts';

/** One device as the send sees it. */
export interface Target {
  readonly deviceId: Uuid;
  readonly userId: Uuid | null;
  readonly platform: Platform;
  readonly isActive: boolean;
  readonly token: string | null;
  readonly credentialId: number | null;
  /** When this token was registered last. */
  readonly registeredAtMs: number;
  /** iOS: where the token belongs, by the device's word or as a push found out; null: not known. */
  readonly environment: Environment | null;
  readonly locale: string | null;
  readonly person: Person;
}

/** What all pushes of a batch share. */
export interface BatchContext {
  readonly batch: ClaimedBatch;
  readonly messageId: string;
  readonly content: CompiledContent;
  /** Opened by web notifications without a url of their own. */
  readonly defaultUrl: string | null;
  readonly credentials: ReadonlyMap<number, OpenCredential>;
  readonly tokenOf: (deviceId: Uuid) => string;
  readonly publicUrl: string | null;
}

export interface PushDeps {
  readonly clock: Clock;
  readonly senders: Senders;
  readonly lanes: Lanes;
  readonly random: () => number;
}

/** What a delivery came to on this turn. */
export type PushResult =
  | { readonly kind: 'skipped'; readonly reason: SkipReason }
  /** Failed without a request on this turn: nothing was asked of a provider. */
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly credentialId: number | null }
  /** Its lane stands still: not an attempt, and not recorded. */
  | { readonly kind: 'deferred'; readonly untilMs: number }
  | {
      readonly kind: 'attempted';
      readonly outcome: Outcome;
      readonly attempt: Attempt;
      readonly credentialId: number;
      readonly urls: string | null;
    };

/** `before`: the attempts already made, oldest first. Never rejects. */
export async function pushOne(
  deps: PushDeps,
  context: BatchContext,
  target: Target,
  before: readonly Attempt[],
): Promise<PushResult> {
  const { batch, content } = context;
  const channel = channelOfPlatform[target.platform];
  if (!target.isActive || target.token === null) return { kind: 'skipped', reason: 'device_inactive' };

  const ttlSeconds = content.ttlSeconds[channel];
  const windowEndsAtMs = batch.dueAt.getTime() + sendWindowMs(ttlSeconds);
  const startedAtMs = deps.clock.nowMs();
  if (startedAtMs >= windowEndsAtMs) return { kind: 'failed', code: 'expired', credentialId: target.credentialId };

  const sender = deps.senders[channel];
  const credential = credentialFor(context, channel, target);
  if (!sender || !credential) return { kind: 'skipped', reason: 'not_configured' };

  const lane = laneOf(batch.appId, credential.id, sender.hostOf(target.token));
  const pausedUntilMs = deps.lanes.pausedUntilMs(lane);
  if (pausedUntilMs !== undefined) return { kind: 'deferred', untilMs: Math.min(pausedUntilMs, windowEndsAtMs) };

  const rendered = content.render(channel, target.person, languageOfDelivery(target.person.language, target.locale));
  if (rendered.kind === 'skip') return { kind: 'skipped', reason: rendered.reason };
  if (rendered.kind === 'fail') return { kind: 'failed', code: rendered.errorCode, credentialId: credential.id };

  await failpoint('push.before_write');
  const receiptToken = context.tokenOf(target.deviceId);
  const sending = sender.send({
    credential,
    token: target.token,
    messageId: context.messageId,
    deviceId: encodeId('dev', target.deviceId),
    receiptToken,
    clickUrl: context.publicUrl === null ? null : `${context.publicUrl}/v1/r/${receiptToken}`,
    content: withDefaultUrl(channel, rendered.content, context.defaultUrl),
    ttlSeconds: ttlLeftSeconds(ttlSeconds, batch.dueAt.getTime(), startedAtMs),
    environment: target.environment,
  });
  if (!sending) return { kind: 'failed', code: 'not_configured', credentialId: credential.id };
  const outcome = await sending;
  await failpoint('push.after_reply');
  // A local check of the channel: nothing was asked of the provider, so there is no attempt to show.
  if (outcome.kind === 'refused' && outcome.provider === null) {
    return { kind: 'failed', code: outcome.errorCode, credentialId: credential.id };
  }

  const urls = content.literalUrls(channel) === null ? JSON.stringify(targetUrlsOf(rendered.content)) : null;
  const retryAt = retryOf(deps, { channel, outcome, before, startedAtMs, windowEndsAtMs, ttlSeconds, lane });
  const attempt: Attempt = {
    at: new Date(startedAtMs).toISOString(),
    type: 'attempt',
    attempt: before.length + 1,
    outcome: outcome.kind === 'sent' ? 'sent' : retryAt === null ? 'failed' : 'retry',
    error_code: outcome.kind === 'sent' ? null : outcome.errorCode,
    latency_ms: Math.round(outcome.latencyMs),
    retry_at: retryAt,
    provider: presentAnswer(outcome.provider),
  };
  return { kind: 'attempted', outcome, attempt, credentialId: credential.id, urls };
}

// A web device belongs to the VAPID key it subscribed with, former or not; all others to the channel's current credential.
function credentialFor(context: BatchContext, channel: ChannelId, target: Target): OpenCredential | undefined {
  let current: OpenCredential | undefined;
  for (const credential of context.credentials.values()) {
    if (credential.channel === channel && credential.isCurrent) current = credential;
  }
  if (!current || channel !== 'webpush' || target.credentialId === null) return current;
  return context.credentials.get(target.credentialId) ?? current;
}

function withDefaultUrl(channel: ChannelId, content: ChannelContent, defaultUrl: string | null): ChannelContent {
  return channel === 'webpush' && content.url === undefined && defaultUrl !== null
    ? { ...content, url: defaultUrl }
    : content;
}

function retryOf(
  deps: PushDeps,
  given: {
    channel: ChannelId;
    outcome: Outcome;
    before: readonly Attempt[];
    startedAtMs: number;
    windowEndsAtMs: number;
    ttlSeconds: number;
    lane: string;
  },
): string | null {
  const { outcome, before, startedAtMs } = given;
  if (outcome.kind === 'sent') return null;
  const nowMs = deps.clock.nowMs();
  if (outcome.retryAfterMs !== null && outcome.retryable) deps.lanes.pause(given.lane, nowMs + outcome.retryAfterMs);
  const atMs = retryAtMs({
    channel: given.channel,
    outcome,
    before: before.map((past) => ({ errorCode: past.error_code, httpStatus: past.provider?.http_status ?? null })),
    firstAttemptAtMs: before[0] ? Date.parse(before[0].at) : startedAtMs,
    nowMs,
    windowEndsAtMs: given.windowEndsAtMs,
    ttlSeconds: given.ttlSeconds,
    random: deps.random(),
  });
  return atMs === undefined ? null : new Date(atMs).toISOString();
}
