// How push services answered: pushes sent, pushes failed by code, and latencies, by channel,
// service and period. Computed from sums, whose quarters of an hour count by their first instant.

import type { Uuid } from '../../ground/values/ids.ts';
import type { ChannelId } from '../../sending/channels/channel.ts';
import type { ErrorCode } from '../../sending/channels/error-code.ts';
import { channelOfNumber, codeOfNumber } from '../../sending/delivery/delivery.ts';
import { percentileMs } from '../../sending/delivery/latency-steps.ts';
import { vendors } from '../../sending/delivery/push-vendor.ts';
import { type OutcomeCount, sumOutcomes } from './deliverability-queries.ts';
import type { Range } from './periods.ts';
import { type ReportReader, snapshot } from './snapshot.ts';

export interface ServiceFigures {
  readonly channel: ChannelId;
  readonly provider: (typeof vendors)[number];
  readonly sent: number;
  readonly failed: number;
  readonly errorCounts: Readonly<Partial<Record<ErrorCode, number>>>;
  /** Milliseconds until the service took a push; null when nothing was sent. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

export interface DeliverabilityReport {
  /** Figures of the whole range. */
  readonly services: readonly ServiceFigures[];
  readonly periods: readonly (Range & { readonly services: readonly ServiceFigures[] })[];
}

export async function reportDeliverability(
  reader: ReportReader,
  { appId, range, periods }: { readonly appId: Uuid; readonly range: Range; readonly periods: readonly Range[] },
): Promise<DeliverabilityReport> {
  const counts = await snapshot(reader, (tx) => sumOutcomes(tx, appId, range, periods));
  const ofPeriods = groupBy(counts, ({ period }) => period);
  return {
    services: figuresOf(counts),
    periods: periods.map((period, i) => ({ ...period, services: figuresOf(ofPeriods.get(i) ?? []) })),
  };
}

/** One row for each service that had a delivery, in the order of channels and vendors. */
function figuresOf(counts: readonly OutcomeCount[]): ServiceFigures[] {
  const services = groupBy(counts, ({ channel, vendor }) => channel * vendors.length + vendor);
  return [...services].sort(([a], [b]) => a - b).map(([, rows]) => figuresOfService(rows));
}

function figuresOfService(rows: readonly OutcomeCount[]): ServiceFigures {
  const steps = new Map<number, number>();
  const errorCounts: Partial<Record<ErrorCode, number>> = {};
  let sent = 0;
  let failed = 0;
  for (const { code, step, count } of rows) {
    if (code === 0) {
      sent += count;
      steps.set(step, (steps.get(step) ?? 0) + count);
    } else {
      failed += count;
      const name = codeOfNumber(code) as ErrorCode;
      errorCounts[name] = (errorCounts[name] ?? 0) + count;
    }
  }
  return {
    channel: channelOfNumber(rows[0]?.channel ?? 0),
    provider: vendors[rows[0]?.vendor ?? 0] ?? 'other',
    sent,
    failed,
    errorCounts,
    p50Ms: percentileMs(steps, 0.5),
    p95Ms: percentileMs(steps, 0.95),
  };
}

function groupBy(counts: readonly OutcomeCount[], keyOf: (count: OutcomeCount) => number): Map<number, OutcomeCount[]> {
  const groups = new Map<number, OutcomeCount[]>();
  for (const count of counts) {
    const group = groups.get(keyOf(count));
    if (group) group.push(count);
    else groups.set(keyOf(count), [count]);
  }
  return groups;
}
