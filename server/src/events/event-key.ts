// What an event's id of the caller's is remembered by: sixteen bytes in place of two texts, for the table of all ids ever seen is the
// one that does not fit into memory. Pure.
import { hash } from 'node:crypto';
import type { Uuid } from '../platform/ids.ts';

/** The first half of the SHA-256 of source and id, as 32 hex digits; the source is a client's device, or null: the server. */
export function eventKey(deviceId: Uuid | null, id: string): string {
  return hash('sha256', `${deviceId ?? 'server'} ${id}`, 'hex').slice(0, 32);
}
