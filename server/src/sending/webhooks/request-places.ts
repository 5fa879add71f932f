// Counts the requests that a process has under way, and decides which webhooks may have more. Each
// request is a connection with its buffers. So the number is shared between the webhooks that have
// events, and does not grow with them. Every webhook gets at least one place.
import type { Uuid } from '../../ground/values/ids.ts';

/**
 * The number of requests that webhooks with requests under way share. A single webhook has its
 * whole window. Each of fifty has fifteen, which is as much as a process can send. Endpoints that
 * never answer hold no more than their share.
 */
const sharedMax = 768;
/** The limit for any number of webhooks, where each has only one request under way. */
const requestsMax = 2_000;
/**
 * A connection is kept this long after a request, so a webhook told within this time has
 * connections.
 */
const connectedMs = 4_000;

export class RequestPlaces {
  readonly #taken = new Map<Uuid, number>();
  /** The time when each webhook was last told something, the longest ago first. */
  readonly #toldAtMs = new Map<Uuid, number>();
  #requests = 0;

  get areTaken(): boolean {
    return this.#requests >= requestsMax;
  }

  /**
   * The webhooks that hold more than half of their share. Claims skip them until they can take
   * several events at once, because a claim for one event costs as much.
   */
  full(): Uuid[] {
    const half = shareOf(this.#taken.size) / 2;
    return [...this.#taken].flatMap(([id, requests]) => (requests > half ? [id] : []));
  }

  /**
   * How many more requests each of these webhooks may have if all have events. `haveCompany`: other
   * webhooks may be next. Then each gets its share beside all webhooks that were told just now.
   * Otherwise webhooks served in turn would each open a full window of connections.
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
