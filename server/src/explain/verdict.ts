// A verdict: in one word, what a message came to for a person or a device (contract 5.22).

/** The first that one of a person's devices has is the person's verdict. */
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
