// How many requests a process has under way, and who may have more: each is a connection with its buffers, so their number is
// shared out between the webhooks that are told something, and does not grow with them. Never leaves one without a place.
import type { Uuid } from '../platform/ids.ts';

/**
 * Shared out between the webhooks that have requests under way. Alone, one has its whole window; of fifty, each has ten, which is as
 * much as a process can tell; and those that never answer hold no more than their share.
 */
const sharedMax = 512;
/** Whatever happens: of so many webhooks each has one request under way. */
const requestsMax = 2_000;

export class RequestPlaces {
  readonly #taken = new Map<Uuid, number>();
  #requests = 0;

  get areTaken(): boolean {
    return this.#requests >= requestsMax;
  }

  /** The webhooks that have their share, or more since others came. */
  full(): Uuid[] {
    const share = shareOf(this.#taken.size);
    return [...this.#taken].flatMap(([id, requests]) => (requests >= share ? [id] : []));
  }

  /** How many requests more each of these may have, if all of them have something to tell. */
  free(ids: readonly Uuid[]): number[] {
    const share = shareOf(new Set([...this.#taken.keys(), ...ids]).size);
    return ids.map((id) => Math.max(0, share - (this.#taken.get(id) ?? 0)));
  }

  take(id: Uuid): void {
    this.#requests++;
    this.#taken.set(id, (this.#taken.get(id) ?? 0) + 1);
  }

  giveBack(id: Uuid): void {
    this.#requests--;
    const left = (this.#taken.get(id) ?? 0) - 1;
    if (left > 0) this.#taken.set(id, left);
    else this.#taken.delete(id);
  }
}

function shareOf(webhooks: number): number {
  return Math.max(1, Math.floor(sharedMax / Math.max(1, webhooks)));
}
