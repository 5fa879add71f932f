// How far an app's events of a name are settled, given by two marks: a place and a receipt. Pure.
import type { Uuid } from '../ground/ids.ts';
import type { Progress } from './attribution-queries.ts';

const nil: Uuid = '00000000-0000-0000-0000-000000000000';

/**
 * Milliseconds. A request commits within this time after minting its ids, or never. A receipt, a
 * send or a click that is stored later is recorded as a change.
 */
export const commitMsMax = 60_000;

/** The progress before every event that the API accepts. */
export const nothingSettled: Progress = { settledAt: new Date(0), settledId: nil, receivedTo: nil };

export function isSettled(
  { settledAt, settledId, receivedTo }: Progress,
  { at, id }: { readonly at: Date; readonly id: Uuid },
): boolean {
  if (id > receivedTo) return false;
  return at.getTime() === settledAt.getTime() ? id <= settledId : at.getTime() < settledAt.getTime();
}
