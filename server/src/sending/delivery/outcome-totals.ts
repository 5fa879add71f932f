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
  const totals = new Map<number, OutcomeTotal & { count: number }>();
  for (const { row, final, vendor } of items) {
    if (final !== 'sent' && final !== 'failed') continue;
    const code = row.errorCode ?? 0;
    const bucket = Math.floor(row.doneAtMs / quarterMs);
    const vendorNumber = vendors.indexOf(vendor);
    const step = code === 0 && row.latencyMs !== null ? latencyStep(row.latencyMs) : 0;
    // A number, because a text for each delivery was a twentieth of what a push allocates.
    const key = (((bucket * 16 + row.channel) * 16 + vendorNumber) * 256 + code) * 32 + step;
    const known = totals.get(key);
    if (known) known.count++;
    else
      totals.set(key, {
        bucketMs: bucket * quarterMs,
        channel: row.channel,
        vendor: vendorNumber,
        code,
        step,
        count: 1,
      });
  }
  return [...totals.values()];
}
