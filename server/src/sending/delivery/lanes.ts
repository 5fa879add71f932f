// Lanes: a provider's Retry-After pauses all pushes of one credential to one host, and not only one
// message (contract 7.5). A lane belongs to one app, so the 429 of one app slows no other.
// Each process keeps its own lanes and learns from its own answers.
import type { Uuid } from '../../ground/values/ids.ts';

export interface Lanes {
  /** The rest of the lane's pause; undefined when the lane is open. */
  pausedForMs(lane: string): number | undefined;
  pause(lane: string, forMs: number): void;
}

/**
 * `host` is the push service's for web push, because one VAPID key serves many push services. Null
 * for a credential with a single provider.
 */
export function laneOf(appId: Uuid, credentialId: number, host: string | null): string {
  return `${appId} ${credentialId} ${host ?? ''}`;
}

/** Above this number of lanes, those that are open again are deleted. */
const lanesMax = 10_000;

/** `steadyMs` is a clock that nobody sets, so that a pause ends in time. */
export function createLanes(steadyMs: () => number): Lanes {
  const paused = new Map<string, number>();
  return {
    pausedForMs(lane) {
      const untilMs = paused.get(lane);
      if (untilMs === undefined) return undefined;
      const leftMs = untilMs - steadyMs();
      if (leftMs > 0) return leftMs;
      paused.delete(lane);
      return undefined;
    },
    pause(lane, forMs) {
      const now = steadyMs();
      if (paused.size >= lanesMax) {
        for (const [other, otherUntilMs] of paused) if (otherUntilMs <= now) paused.delete(other);
      }
      paused.set(lane, Math.max(now + forMs, paused.get(lane) ?? 0));
    },
  };
}
