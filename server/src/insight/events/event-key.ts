// A short hash by which a caller's event id is remembered: sixteen bytes in place of two texts. The
// table of all known ids is the one that does not fit into memory. Pure.
import { hash } from 'node:crypto';
import type { Uuid } from '../../ground/values/ids.ts';

/**
 * Returns the first half of the SHA-256 of source and id, as 32 hexadecimal digits. The source is a
 * client's device; null is the server.
 */
export function eventKey(deviceId: Uuid | null, id: string): string {
  return hash('sha256', `${deviceId ?? 'server'} ${id}`, 'hex').slice(0, 32);
}
