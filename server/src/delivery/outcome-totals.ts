// Counts the outcomes of a flush by push service, code and latency, for the report of
// deliverability. Pure.
import { latencyStep } from './latency-steps.ts';
import type { OutcomeItem } from './outcome-row.ts';
import { vendors } from './push-vendor.ts';

export interface OutcomeTotal {
  readonly bucketMs: number;
  readonly channel: number;
  readonly vendor: number;
  /** 0: sent; otherwise the number of the code. */
  readonly code: number;
  readonly step: number;
  readonly count: number;
}

const quarterMs = 900_000;

/** The deliveries among the items that were sent or failed for good. */
export function totalOutcomes(items: readonly Pick<OutcomeItem, 'row' | 'final' | 'vendor'>[]): OutcomeTotal[] {
  const totals = new Map<string, OutcomeTotal>();
  for (const { row, final, vendor } of items) {
    if (final !== 'sent' && final !== 'failed') continue;
    const code = row.errorCode ?? 0;
    const total = {
      bucketMs: Math.floor(row.doneAtMs / quarterMs) * quarterMs,
      channel: row.channel,
      vendor: vendors.indexOf(vendor),
      code,
      step: code === 0 && row.latencyMs !== null ? latencyStep(row.latencyMs) : 0,
      count: 1,
    };
    const key = `${total.bucketMs} ${total.channel} ${total.vendor} ${code} ${total.step}`;
    const known = totals.get(key);
    totals.set(key, known ? { ...known, count: known.count + 1 } : total);
  }
  return [...totals.values()];
}
