// How far the events of an app are classed, given by two marks: a place in their order and a
// receipt. Pure.
import type { Uuid } from '../../ground/values/ids.ts';
import type { Range } from './periods.ts';

const nil: Uuid = '00000000-0000-0000-0000-000000000000';

/**
 * Milliseconds. A request commits within this time after minting its ids, or never. A receipt, a
 * send or a click that is stored later is recorded as a change.
 */
export const commitMsMax = 60_000;

/** A position among an app's events of a name. */
export interface Place {
  readonly at: Date;
  readonly id: Uuid;
}

/** Within the marks are the events up to the place that were received by an id. */
export interface Marks extends Place {
  readonly receivedTo: Uuid;
}

/** The place before every event of an instant. */
export function placeAt(ms: number): Place {
  return { at: new Date(ms), id: nil };
}

/** Before and after every event that the API accepts. */
export const noEvent: Marks = { ...placeAt(0), receivedTo: nil };
export const everyEvent: Marks = { ...placeAt(Date.UTC(2200, 0, 1)), receivedTo: nil.replaceAll('0', 'f') };

export interface Between {
  /** Events within these marks are left out. */
  readonly from: Marks;
  /** Events outside of these are left out. */
  readonly to?: Marks;
  readonly range?: Range;
  readonly subjectIds?: readonly Uuid[];
}

export function isWithin(marks: Marks, { at, id }: Place): boolean {
  if (id > marks.receivedTo) return false;
  return at.getTime() === marks.at.getTime() ? id <= marks.id : at.getTime() < marks.at.getTime();
}
