// Pushes to one device: renders, mints the receipt token, pushes and names the outcome. Every
// result is a value; nothing is thrown and nothing is written.
import type { ChannelId, Outcome, RefusedOutcome } from '../channels/channel.ts';
import { targetUrlsOf } from '../content/compile-content.ts';
import type { ChannelContent } from '../content/content.ts';
import { languageOfDelivery } from '../content/locales.ts';
import type { Clock } from '../database/clock.ts';
import { failpoint } from '../ground/failpoint.ts';
import { unknownPushesOf } from './batch.ts';
import type { Attempt } from './delivery.ts';
import type { Lanes } from './lanes.ts';
import type { BatchContext, PlannedPush, Route, Target, Unpushed } from './plan-push.ts';
import { lanePauseMs, retryAtMs } from './retry.ts';
import { ttlLeftSeconds } from './send-window.ts';
import type { Senders } from './senders.ts';

export interface PushDeps {
  readonly clock: Clock;
  readonly senders: Senders;
  readonly lanes: Lanes;
  readonly random: () => number;
}

/**
 * The wait after a host's name could not be looked up, because other names held all places. By then
 * some places are free again.
 */
const untriedAgainMs = 30_000;

/** How a push that has its place keeps its message's rate. */
export interface PushPace {
  /** Awaited before each request after the first. */
  readonly again: () => Promise<void>;
  /** Whether the place has passed. Asked when the first request is about to go out. */
  readonly isLate: () => boolean;
}

/** No request went out, because the push's place had passed by then. */
export interface Late {
  readonly kind: 'late';
}

/** The result of a delivery on this turn. */
export type PushResult =
  | Unpushed
  | {
      readonly kind: 'attempted';
      readonly outcome: Outcome;
      /** The time when the attempt began. */
      readonly atMs: number;
      /** Null: no further attempt. */
      readonly retryAtMs: number | null;
      readonly credentialId: number;
      readonly urls: string | null;
    };

/**
 * Makes a planned push. `before` holds the attempts already made, oldest first. `pace` is undefined
 * for a message without a rate. Never rejects.
 */
export async function pushOne(
  deps: PushDeps,
  context: BatchContext,
  target: Target,
  planned: PlannedPush,
  before: readonly Attempt[],
  pace?: PushPace,
): Promise<PushResult | Late> {
  const { batch, content } = context;
  const { channel, sender, credential, ttlSeconds, windowEndsAtMs } = planned.route;
  let startedAtMs = deps.clock.nowMs();
  const rendered = content.render(channel, target.person, languageOfDelivery(target.person.language, target.locale));
  if (rendered.kind === 'skip') return { kind: 'skipped', reason: rendered.reason };
  if (rendered.kind === 'fail') return { kind: 'failed', code: rendered.errorCode, credentialId: credential.id };

  const heldBefore = failpoint('push.before_write');
  if (heldBefore) await heldBefore;
  const receiptToken = context.tokenOf(target.deviceId);
  // Called as late as possible, because the push may have waited for a connection. Its window may
  // have passed by then.
  let unsentFor: 'unwanted' | 'late' | undefined;
  let hasBegun = false;
  const isWanted = (): boolean => {
    const nowMs = deps.clock.nowMs();
    if (!context.isWanted() || nowMs >= windowEndsAtMs) unsentFor = 'unwanted';
    else if (!hasBegun && pace?.isLate()) unsentFor = 'late';
    if (unsentFor) return false;
    if (!hasBegun) startedAtMs = nowMs;
    hasBegun = true;
    return true;
  };
  const sending = sender.send({
    credential,
    token: planned.token,
    messageId: context.messageId,
    device: target.deviceId,
    receiptToken,
    clickUrl: context.publicUrl === null ? null : `${context.publicUrl}/v1/r/${receiptToken}`,
    content: withDefaultUrl(channel, rendered.content, context.defaultUrl),
    ttlSeconds: ttlLeftSeconds(ttlSeconds, batch.dueAt.getTime(), startedAtMs),
    environment: target.environment,
    again: pace?.again,
    isWanted,
  });
  if (!sending) return { kind: 'failed', code: 'not_configured', credentialId: credential.id };
  const outcome = await sending;
  // No request went out, so this is not an attempt.
  if (unsentFor && outcome.kind === 'refused' && outcome.provider?.transportError === 'connect_error')
    return unsentFor === 'late' ? { kind: 'late' } : { kind: 'deferred', untilMs: deps.clock.nowMs() };
  const heldAfter = failpoint('push.after_reply');
  if (heldAfter) await heldAfter;
  // The host's name was not looked up, so nothing is known of the host. Only a delivery without
  // earlier attempts waits for another turn. Otherwise countless hosts that never answer would be
  // looked up until their window closes.
  if (outcome.kind === 'refused' && outcome.isUntried && before.length === 0)
    return { kind: 'deferred', untilMs: deps.clock.nowMs() + untriedAgainMs * (0.5 + deps.random() / 2) };
  // A local check of the channel failed. No provider was asked, so there is no attempt to show.
  if (outcome.kind === 'refused' && outcome.provider === null) {
    return { kind: 'failed', code: outcome.errorCode, credentialId: credential.id };
  }

  const urls = content.literalUrls(channel) === null ? JSON.stringify(targetUrlsOf(rendered.content)) : null;
  const retryAt =
    outcome.kind === 'sent' || isInvented(target, outcome)
      ? null
      : retryOf(deps, context, planned.route, { outcome, before, startedAtMs });
  return { kind: 'attempted', outcome, atMs: startedAtMs, retryAtMs: retryAt, credentialId: credential.id, urls };
}

/** Web notifications without a url of their own open the app's (contract 7.2). */
export function withDefaultUrl(channel: ChannelId, content: ChannelContent, defaultUrl: string | null): ChannelContent {
  return channel === 'webpush' && content.url === undefined && defaultUrl !== null
    ? { ...content, url: defaultUrl }
    : content;
}

/**
 * Whether a stranger's device names a host without an address. Four more attempts would delay a
 * caller who waits for all outcomes.
 */
function isInvented({ isStranger }: Target, { provider, isUntried }: RefusedOutcome): boolean {
  return isStranger && provider?.transportError === 'dns_error' && !isUntried;
}

function retryOf(
  deps: PushDeps,
  { batch }: BatchContext,
  { channel, lane, ttlSeconds, windowEndsAtMs }: Route,
  given: {
    readonly outcome: RefusedOutcome;
    readonly before: readonly Attempt[];
    readonly startedAtMs: number;
  },
): number | null {
  const { outcome, before, startedAtMs } = given;
  const nowMs = deps.clock.nowMs();
  const random = deps.random();
  const pausedMs = lanePauseMs(outcome, random);
  if (pausedMs > 0) deps.lanes.pause(lane, nowMs + pausedMs);
  const atMs = retryAtMs({
    channel,
    outcome,
    before: before.map((past) => ({ errorCode: past.error_code, httpStatus: past.provider?.http_status ?? null })),
    unknownPushes: unknownPushesOf(batch),
    firstAttemptAtMs: before[0] ? Date.parse(before[0].at) : startedAtMs,
    nowMs,
    windowEndsAtMs,
    ttlSeconds,
    random,
  });
  // Whole milliseconds, because the time is stored so and read again.
  return atMs === undefined ? null : Math.trunc(atMs);
}
