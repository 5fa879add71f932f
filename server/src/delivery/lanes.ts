// Lanes: a provider's Retry-After pauses all pushes of one credential to one host, not one message (contract 7.5). A lane
// belongs to one app, so one app's 429 slows no other. Known to this process alone: each learns from its own answers.
import type { Uuid } from '../platform/ids.ts';

export interface Lanes {
  /** Until when a lane stands still; undefined when it is open. */
  pausedUntilMs(lane: string): number | undefined;
  pause(lane: string, untilMs: number): void;
}

/** `host` is the push service's for web push, whose credential serves many; null where the credential has one provider. */
export function laneOf(appId: Uuid, credentialId: number, host: string | null): string {
  return `${appId} ${credentialId} ${host ?? ''}`;
}

/** Lanes remembered before those that are open again are swept. */
const lanesMax = 10_000;

export function createLanes(nowMs: () => number): Lanes {
  const paused = new Map<string, number>();
  return {
    pausedUntilMs(lane) {
      const untilMs = paused.get(lane);
      if (untilMs === undefined) return undefined;
      if (untilMs > nowMs()) return untilMs;
      paused.delete(lane);
      return undefined;
    },
    pause(lane, untilMs) {
      if (paused.size >= lanesMax) {
        const now = nowMs();
        for (const [other, otherUntilMs] of paused) if (otherUntilMs <= now) paused.delete(other);
      }
      paused.set(lane, Math.max(untilMs, paused.get(lane) ?? 0));
    },
  };
}
