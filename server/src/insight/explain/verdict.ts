// The verdict of an explanation: the result of a message for a person or a device, in one word
// (contract 5.22).

/** A person's verdict is the first in this order that one of their devices has. */
export const verdicts = [
  'clicked',
  'displayed',
  'sent',
  'retrying',
  'failed',
  'skipped',
  'waiting',
  'scheduled',
  'canceled',
  'excluded',
  'not_in_audience',
  'no_active_device',
  'unknown_user',
] as const;
export type Verdict = (typeof verdicts)[number];

/** The item with the first verdict; of equal ones the earlier item. Undefined for an empty list. */
export function firstByVerdict<Item extends { readonly verdict: Verdict }>(items: readonly Item[]): Item | undefined {
  const [first, ...others] = items;
  return others.reduce<Item | undefined>(
    (best, item) => (best && verdicts.indexOf(best.verdict) <= verdicts.indexOf(item.verdict) ? best : item),
    first,
  );
}
