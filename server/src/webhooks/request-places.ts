// How many requests a process has under way, and who may have more: each is a connection with its buffers, so their number is
// shared out between the webhooks that are told something, and does not grow with them. Never leaves one without a place.
import type { Uuid } from '../platform/ids.ts';

/**
 * Shared out between the webhooks that have requests under way. Alone, one has its whole window; of fifty, each has fifteen, which is as
 * much as a process can tell; and those that never answer hold no more than their share.
 */
const sharedMax = 768;
/** Whatever happens: of so many webhooks each has one request under way. */
const requestsMax = 2_000;
/** A connection is kept so long after a request: whoever was told since has some. */
const connectedMs = 4_000;

export class RequestPlaces {
  readonly #taken = new Map<Uuid, number>();
  /** When each webhook was last told something, longest ago first. */
  readonly #toldAtMs = new Map<Uuid, number>();
  #requests = 0;

  get areTaken(): boolean {
    return this.#requests >= requestsMax;
  }

  /** The webhooks that have more than half of their share. The next ones they are given are some at once: a claim costs the same for one. */
  full(): Uuid[] {
    const half = shareOf(this.#taken.size) / 2;
    return [...this.#taken].flatMap(([id, requests]) => (requests > half ? [id] : []));
  }

  /**
   * How many requests more each of these may have, if all of them have something to tell. `haveCompany`: there may be others that have,
   * whose turn comes next; then each has what it would have beside all that were told just now. Many at once for one after the other
   * would make as many connections of each of them.
   */
  free(ids: readonly Uuid[], { haveCompany, nowMs }: { haveCompany: boolean; nowMs: number }): number[] {
    this.#forget(nowMs);
    const share = shareOf(unionSize(this.#taken, ids));
    const most = haveCompany ? shareOf(unionSize(this.#toldAtMs, ids)) : share;
    return ids.map((id) => Math.min(most, Math.max(0, share - (this.#taken.get(id) ?? 0))));
  }

  take(id: Uuid, nowMs: number): void {
    this.#requests++;
    this.#taken.set(id, (this.#taken.get(id) ?? 0) + 1);
    this.#toldAtMs.delete(id);
    this.#toldAtMs.set(id, nowMs);
  }

  giveBack(id: Uuid): void {
    this.#requests--;
    const left = (this.#taken.get(id) ?? 0) - 1;
    if (left > 0) this.#taken.set(id, left);
    else this.#taken.delete(id);
  }

  #forget(nowMs: number): void {
    for (const [id, toldAtMs] of this.#toldAtMs) {
      if (toldAtMs >= nowMs - connectedMs) return;
      this.#toldAtMs.delete(id);
    }
  }
}

function shareOf(webhooks: number): number {
  return Math.max(1, Math.floor(sharedMax / Math.max(1, webhooks)));
}

function unionSize(known: ReadonlyMap<Uuid, unknown>, ids: readonly Uuid[]): number {
  return known.size + ids.filter((id) => !known.has(id)).length;
}
