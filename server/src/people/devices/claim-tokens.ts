// Claims many tokens at once, for imports: each for a new device, unless a device has it already.
// All rows stay locked until the transaction ends, so that a registration that races for one of the
// tokens waits and then finds its device.

import type { Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Platform } from '../../sending/channels/channel.ts';
import { insertTokens } from './insert-many.ts';
import { lockToken } from './queries.ts';
import { claimToken } from './register-device.ts';
import type { DeviceToken } from './token.ts';

export interface TokenClaim {
  /** The device that gets the token if no device has it. */
  readonly id: Uuid;
  readonly platform: Platform;
  readonly token: DeviceToken;
}

/**
 * Returns the device of each token, by the id of its claim. Each token may be claimed only once in
 * a call.
 */
export async function claimTokens(tx: Tx, appId: Uuid, claims: readonly TokenClaim[]): Promise<Map<Uuid, Uuid>> {
  const inOrder = [...claims].sort(
    (one, other) => one.platform.localeCompare(other.platform) || one.token.hash.compare(other.token.hash),
  );
  const holders = new Map<Uuid, Uuid>();
  if (inOrder.length === 0) return holders;
  for (const id of await insertTokens(tx, appId, inOrder)) holders.set(id, id);
  const others = inOrder.filter(({ id }) => !holders.has(id));
  // One statement for each, because a distributed database locks rows on one shard only. The
  // statements are sent together, so that none waits for the answer to another.
  const locked = await Promise.all(others.map(({ platform, token }) => lockToken(tx, appId, platform, token.hash)));
  for (const [i, claim] of others.entries()) {
    holders.set(claim.id, locked[i] ?? (await claimToken(tx, { appId, ...claim }, claim.id)));
  }
  return holders;
}
