// Decides about a push before anything is rendered or sent: whether it is made, by which
// credential, in which lane and until when. Cheap, so it runs again after every wait. Pure but for
// the clock and the lanes.

import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { OpenCredential } from '../../teams/apps/credentials.ts';
import { type ChannelId, channelOfPlatform, type Environment, type Platform } from '../channels/channel.ts';
import type { ErrorCode } from '../channels/error-code.ts';
import type { CompiledContent } from '../content/compile-content.ts';
import type { Person } from '../content/template.ts';
import { type ClaimedBatch, unknownPushesOf } from './batch.ts';
import type { Attempt, SkipReason } from './delivery.ts';
import { type Lanes, laneOf } from './lanes.ts';
import { pushesMax, retrySpanMs } from './retry.ts';
import { sendWindowMs } from './send-window.ts';
import type { ReadCredential, Senders } from './senders.ts';

/** One device as the send sees it. */
export interface Target {
  readonly deviceId: Uuid;
  readonly userId: Uuid | null;
  readonly platform: Platform;
  readonly isActive: boolean;
  readonly token: string | null;
  readonly credentialId: number | null;
  /** The time when this token was last registered, or what is stored with it last changed. */
  readonly storedAtMs: number;
  /**
   * The environment of an iOS token, as the device said or a push found; null when it is not known.
   */
  readonly environment: Environment | null;
  /** The last pushes to this device failed with `credential_mismatch`. */
  readonly hasMismatches: boolean;
  /** A push or a receipt has reached this device before. */
  readonly isReached: boolean;
  /**
   * A client key registered this device, and nothing ever reached it. So a stranger may have made
   * it up.
   */
  readonly isStranger: boolean;
  readonly locale: string | null;
  readonly person: Person;
}

/**
 * The part that pushes of one credential share. A web credential serves many hosts, so the host is
 * part of its route.
 */
export interface Route {
  readonly channel: ChannelId;
  readonly credentialId: number;
  /** Undefined: the credential cannot be read. */
  readonly credential: ReadCredential | undefined;
  readonly lane: string;
  readonly ttlSeconds: number;
  readonly windowEndsAtMs: number;
}

/** The part that all pushes of a batch share. */
export interface BatchContext {
  readonly batch: ClaimedBatch;
  readonly messageId: string;
  readonly content: CompiledContent;
  /** The url of web notifications without one of their own. */
  readonly defaultUrl: string | null;
  readonly routes: Routes;
  readonly tokenOf: (deviceId: Uuid) => string;
  readonly publicUrl: string | null;
  /**
   * False at a stop, a pause or a cancel, and while another process may soon hold the claim. A push
   * that is not sent by then is not sent at all.
   */
  readonly isWanted: () => boolean;
}

/** The result of a delivery without a push. */
export type Unpushed =
  | { readonly kind: 'skipped'; readonly reason: SkipReason }
  /** Failed without any request to a provider on this turn. */
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly credentialId: number | null }
  /** The lane is paused. This is not an attempt and is not recorded. */
  | { readonly kind: 'deferred'; readonly untilMs: number };

/** A push that may be made now. */
export interface PlannedPush {
  readonly kind: 'planned';
  readonly token: string;
  readonly route: Route;
}

/** Decides whether this push is made. `before` holds the attempts already made, oldest first. */
export function planPush(
  deps: { readonly clock: Clock; readonly lanes: Lanes },
  { batch, content, routes }: BatchContext,
  target: Target,
  before: readonly Attempt[],
): PlannedPush | Unpushed {
  const { token, credentialId } = target;
  const channel = channelOfPlatform[target.platform];
  if (!target.isActive || token === null) return { kind: 'skipped', reason: 'device_inactive' };
  // A device gets at most five pushes, counting those with unknown outcome.
  if (before.length + unknownPushesOf(batch) >= pushesMax)
    return { kind: 'failed', code: before.at(-1)?.error_code ?? 'timeout', credentialId };

  const windowEndsAtMs = windowEndOf(batch, content.ttlSeconds[channel]);
  const nowMs = deps.clock.nowMs();
  if (nowMs >= windowEndsAtMs) return { kind: 'failed', code: 'expired', credentialId };
  // A retry may come too late, because its lane was paused or no process was running.
  if (isRetryTooLate(before, nowMs))
    return { kind: 'failed', code: before.at(-1)?.error_code ?? 'timeout', credentialId };

  const route = routes(channel, credentialId, token);
  if (!route) return { kind: 'skipped', reason: 'not_configured' };

  const pausedForMs = deps.lanes.pausedForMs(route.lane);
  if (pausedForMs !== undefined) return { kind: 'deferred', untilMs: Math.min(nowMs + pausedForMs, windowEndsAtMs) };
  return { kind: 'planned', token, route };
}

/** Finds the route of a device's token; undefined when its channel has no credential. */
export type Routes = (channel: ChannelId, credentialId: number | null, token: string) => Route | undefined;

/** The routes of a batch. Each is made once and shared by its devices. */
export function routesOf(
  senders: Senders,
  batch: ClaimedBatch,
  { ttlSeconds }: CompiledContent,
  credentials: ReadonlyMap<number, OpenCredential>,
): Routes {
  const known = new Map<ChannelId, Map<string | null, Map<number | null, Route | undefined>>>();
  const make = (channel: ChannelId, credentialId: number | null, host: string | null): Route | undefined => {
    const sender = senders[channel];
    const stored = credentialFor(credentials, channel, credentialId);
    if (!sender || !stored) return undefined;
    return {
      channel,
      credentialId: stored.id,
      credential: sender.read(stored),
      lane: laneOf(batch.appId, stored.id, host),
      ttlSeconds: ttlSeconds[channel],
      windowEndsAtMs: windowEndOf(batch, ttlSeconds[channel]),
    };
  };
  return (channel, credentialId, token) => {
    const host = senders[channel]?.hostOf(token) ?? null;
    const hosts = mapIn(known, channel);
    const byCredential = mapIn(hosts, host);
    if (!byCredential.has(credentialId)) byCredential.set(credentialId, make(channel, credentialId, host));
    return byCredential.get(credentialId);
  };
}

function mapIn<Key, Inner, Value>(maps: Map<Key, Map<Inner, Value>>, key: Key): Map<Inner, Value> {
  let map = maps.get(key);
  if (map === undefined) {
    map = new Map();
    maps.set(key, map);
  }
  return map;
}

function windowEndOf({ dueAt }: ClaimedBatch, ttlSeconds: number): number {
  return dueAt.getTime() + sendWindowMs(ttlSeconds);
}

/** Contract 7.5: all requests of a delivery are within 60 minutes of the first. */
function isRetryTooLate(before: readonly Attempt[], nowMs: number): boolean {
  const first = before[0];
  return first !== undefined && nowMs - Date.parse(first.at) > retrySpanMs;
}

// The credential of a device. A web device belongs to the VAPID key with which it subscribed, also
// when that key is a former one. Every other device uses the channel's current credential.
function credentialFor(
  credentials: ReadonlyMap<number, OpenCredential>,
  channel: ChannelId,
  credentialId: number | null,
): OpenCredential | undefined {
  let current: OpenCredential | undefined;
  for (const credential of credentials.values()) {
    if (credential.channel === channel && credential.isCurrent) current = credential;
  }
  if (!current || channel !== 'webpush' || credentialId === null) return current;
  return credentials.get(credentialId) ?? current;
}
