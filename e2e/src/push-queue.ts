// What a push service keeps for one browser until the browser acknowledges it (RFC 8030 sections 5.2 and 5.4): order,
// topics and time to live. Knows no wire and no clock.

import type { AcceptedPush } from './push-request.ts';

export interface StoredPush {
  id: string;
  /** The subscription it is for, by whatever name the service gives it. */
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

/** The same body with the last bit of its authentication tag flipped: what no browser may take for a push. */
export function corruptBody(body: Buffer): Buffer {
  const corrupted = Buffer.from(body);
  const last = corrupted.length - 1;
  if (last >= 0) corrupted.writeUInt8(corrupted.readUInt8(last) ^ 1, last);
  return corrupted;
}

export class PushQueue {
  #pushes: StoredPush[] = [];

  /** Adds a push at the end; answers the one of the same topic and subscription that it replaces. */
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

  /** Takes out what has expired, and answers it; a push with TTL 0 has, as soon as it was not delivered at once. */
  takeExpired(now: number): StoredPush[] {
    const expired = this.#pushes.filter((push) => push.expiresAt <= now);
    this.#pushes = this.#pushes.filter((push) => push.expiresAt > now);
    return expired;
  }

  /** Everything still kept, oldest first. */
  list(): readonly StoredPush[] {
    return this.#pushes;
  }
}
