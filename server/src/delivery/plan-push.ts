// What is known of a push before anything is rendered or asked: whether it is made at all, by whose credential, in which lane and
// until when. Costs next to nothing, so it is asked again after every wait. Pure but for the clock and the lanes.
import type { OpenCredential } from '../apps/credentials.ts';
import { type ChannelId, channelOfPlatform, type Environment, type Platform } from '../channels/channel.ts';
import type { ErrorCode } from '../channels/error-code.ts';
import type { CompiledContent } from '../content/compile-content.ts';
import type { Person } from '../content/template.ts';
import type { Clock } from '../platform/clock.ts';
import type { Uuid } from '../platform/ids.ts';
import { type ClaimedBatch, unknownPushesOf } from './batch.ts';
import type { Attempt, SkipReason } from './delivery.ts';
import { type Lanes, laneOf } from './lanes.ts';
import { pushesMax, retrySpanMs } from './retry.ts';
import { sendWindowMs } from './send-window.ts';
import type { Sender, Senders } from './senders.ts';

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
  /** False at a stop or a pause, and once the claim may be another's: what has not gone out by then does not. */
  readonly isWanted: () => boolean;
}

/** What a delivery comes to without a push. */
export type Unpushed =
  | { readonly kind: 'skipped'; readonly reason: SkipReason }
  /** Failed without a request on this turn: nothing was asked of a provider. */
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly credentialId: number | null }
  /** Its lane stands still: not an attempt, and not recorded. */
  | { readonly kind: 'deferred'; readonly untilMs: number };

/** A push that may be made now. */
export interface PlannedPush {
  readonly kind: 'planned';
  readonly channel: ChannelId;
  readonly token: string;
  readonly sender: Sender;
  readonly credential: OpenCredential;
  readonly lane: string;
  readonly ttlSeconds: number;
  readonly windowEndsAtMs: number;
}

/** `before`: the attempts already made, oldest first. */
export function planPush(
  deps: { readonly clock: Clock; readonly senders: Senders; readonly lanes: Lanes },
  context: BatchContext,
  target: Target,
  before: readonly Attempt[],
): PlannedPush | Unpushed {
  const { batch, content } = context;
  const { token, credentialId } = target;
  const channel = channelOfPlatform[target.platform];
  if (!target.isActive || token === null) return { kind: 'skipped', reason: 'device_inactive' };
  // The fifth push was the last, known or not.
  if (before.length + unknownPushesOf(batch) >= pushesMax)
    return { kind: 'failed', code: before.at(-1)?.error_code ?? 'timeout', credentialId };

  const ttlSeconds = content.ttlSeconds[channel];
  const windowEndsAtMs = batch.dueAt.getTime() + sendWindowMs(ttlSeconds);
  const nowMs = deps.clock.nowMs();
  if (nowMs >= windowEndsAtMs) return { kind: 'failed', code: 'expired', credentialId };
  // A retry may come late: its lane stood still, or nobody was there.
  if (isRetryTooLate(before, nowMs))
    return { kind: 'failed', code: before.at(-1)?.error_code ?? 'timeout', credentialId };

  const sender = deps.senders[channel];
  const credential = credentialFor(context, channel, target);
  if (!sender || !credential) return { kind: 'skipped', reason: 'not_configured' };

  const lane = laneOf(batch.appId, credential.id, sender.hostOf(token));
  const pausedUntilMs = deps.lanes.pausedUntilMs(lane);
  if (pausedUntilMs !== undefined) return { kind: 'deferred', untilMs: Math.min(pausedUntilMs, windowEndsAtMs) };
  return { kind: 'planned', channel, token, sender, credential, lane, ttlSeconds, windowEndsAtMs };
}

/** Contract 7.5: all requests of a delivery are within 60 minutes of the first. */
function isRetryTooLate([first]: readonly Attempt[], nowMs: number): boolean {
  return first !== undefined && nowMs - Date.parse(first.at) > retrySpanMs;
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
