// The pushes that a push service keeps for one browser until it acknowledges them (RFC 8030
// sections 5.2 and 5.4): order, topics and time to live. It knows no wire and no clock.

import type { AcceptedPush } from './push-request.ts';

export interface StoredPush {
  id: string;
  /** The subscription of the push, in the service's own naming. */
  subscription: string;
  topic: string | null;
  ttlSeconds: number;
  expiresAt: number;
  body: Buffer;
}

export function storePush(id: string, subscription: string, push: AcceptedPush, now: number): StoredPush {
  const { topic, ttlSeconds, body } = push;
  return { id, subscription, topic, ttlSeconds, expiresAt: now + ttlSeconds * 1000, body };
}

/**
 * The same body with the last bit of its authentication tag flipped, which every browser must
 * reject.
 */
export function corruptBody(body: Buffer): Buffer {
  const corrupted = Buffer.from(body);
  const last = corrupted.length - 1;
  if (last >= 0) corrupted.writeUInt8(corrupted.readUInt8(last) ^ 1, last);
  return corrupted;
}

export class PushQueue {
  #pushes: StoredPush[] = [];

  /**
   * Adds a push at the end. Returns the push of the same topic and subscription that it replaces.
   */
  add(push: StoredPush): StoredPush | undefined {
    const replaced = this.#pushes.find(
      (other) => push.topic !== null && other.topic === push.topic && other.subscription === push.subscription,
    );
    if (replaced !== undefined) this.remove(replaced.id);
    this.#pushes.push(push);
    return replaced;
  }

  remove(id: string): void {
    this.#pushes = this.#pushes.filter((push) => push.id !== id);
  }

  removeSubscription(subscription: string): void {
    this.#pushes = this.#pushes.filter((push) => push.subscription !== subscription);
  }

  /**
   * Removes and returns expired pushes. A push with TTL 0 expires as soon as it could not be
   * delivered at once.
   */
  takeExpired(now: number): StoredPush[] {
    const expired = this.#pushes.filter((push) => push.expiresAt <= now);
    this.#pushes = this.#pushes.filter((push) => push.expiresAt > now);
    return expired;
  }

  /** All stored pushes, oldest first. */
  list(): readonly StoredPush[] {
    return this.#pushes;
  }
}
