// The results of one message over time: outcomes and marks by minute or hour and by channel, and
// the purchases credited to it. Reads at most about 200,000 deliveries; of a larger message every
// n-th batch, whose counts are scaled to the exact totals.

import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { type ChannelId, channelIds } from '../../sending/channels/channel.ts';
import { channelOfNumber } from '../../sending/delivery/delivery.ts';
import { type Earned, earned, readOpenPurchases } from './engagement.ts';
import { listCreditedRevenue } from './engagement-queries.ts';
import {
  countMoments,
  findRun,
  type MessageRun,
  type MomentCount,
  type MomentKind,
  momentKinds,
  pickBatches,
} from './message-queries.ts';
import { type ReportReader, snapshot } from './snapshot.ts';

export const steps = ['minute', 'hour', 'day'] as const;
export type Step = (typeof steps)[number];

export interface TimeSeries<Kind extends string> {
  readonly step: Step;
  /** One for each step in order, also for empty steps. */
  readonly points: readonly ({ readonly at: Date } & Readonly<Record<Kind, number>>)[];
}

export interface MessageFigures extends Earned {
  /**
   * The number of deliveries read, and of all. If fewer were read, the other figures are estimates.
   */
  readonly read: number;
  readonly accepted: number;
  readonly outcomes: TimeSeries<'sent' | 'failed'>;
  /** Marks of the first week. */
  readonly marks: TimeSeries<'displayed' | 'clicked' | 'dismissed'>;
  /** Marks after the first week. */
  readonly later: Readonly<Record<'displayed' | 'clicked' | 'dismissed', number>>;
  readonly byChannel: Readonly<Record<ChannelId, Readonly<Record<MomentKind, number>>>>;
}

/**
 * About the number of deliveries that one answer reads. 200,000 rows take a fraction of a second.
 */
const readMost = 200_000;
const secondsOf: Readonly<Record<Step, number>> = { minute: 60, hour: 3_600, day: 86_400 };
const hourMs = 3_600_000;
const weekMs = 7 * 24 * hourMs;

const outcomeKinds = ['sent', 'failed'] as const;
const markKinds = ['displayed', 'clicked', 'dismissed'] as const;

/**
 * The step for a span of time: a minute up to four hours, an hour up to a week, otherwise a day.
 * Pure.
 */
export function stepFor(spanMs: number): Step {
  if (spanMs <= 4 * hourMs) return 'minute';
  return spanMs <= weekMs ? 'hour' : 'day';
}

/** Resolves with undefined for a message that does not exist. */
export async function readMessageFigures(
  { clock, readMost: most = readMost, ...reader }: ReportReader & { readonly clock: Clock; readonly readMost?: number },
  appId: Uuid,
  messageId: Uuid,
): Promise<MessageFigures | undefined> {
  return snapshot(reader, async (tx) => {
    const run = await findRun(tx, appId, messageId);
    if (!run) return undefined;
    const tallied = run.startedAt ? await readOpenPurchases({ tx, clock, appId }, run.startedAt.getTime()) : [];
    const credited = await listCreditedRevenue(tx, appId, [messageId], tallied);
    const everyNth = Math.max(1, Math.ceil(run.accepted / most));
    const batches = await pickBatches(tx, messageId, everyNth);
    const plan = planSteps(run, clock.nowMs());
    const moments =
      batches.ids.length === 0
        ? []
        : await countMoments(tx, batches.ids, {
            from: plan.from,
            outcomeSeconds: secondsOf[plan.outcomes],
            markSeconds: secondsOf[plan.marks],
            marksMost: plan.marksMost,
          });
    const totals = { ...batches, sent: run.sent, failed: run.failed };
    const counts = scale(moments, totals, everyNth > 1);
    const sumOf = (kind: MomentKind, is: (count: MomentCount) => boolean): number =>
      counts.reduce((sum, count) => (count.kind === kind && is(count) ? sum + count.count : sum), 0);
    const isLater = ({ step }: MomentCount): boolean => step >= plan.marksMost;
    const record = <Kind extends MomentKind>(kinds: readonly Kind[], is: (count: MomentCount) => boolean) =>
      Object.fromEntries(kinds.map((kind) => [kind, sumOf(kind, is)])) as Record<Kind, number>;
    return {
      ...earned(credited),
      accepted: run.accepted,
      read: everyNth === 1 ? run.accepted : moments.reduce((sum, m) => (isOutcome(m.kind) ? sum + m.count : sum), 0),
      outcomes: series(plan.from, plan.outcomes, outcomeKinds, counts),
      marks: series(
        plan.from,
        plan.marks,
        markKinds,
        counts.filter((count) => !isLater(count)),
      ),
      later: record(markKinds, isLater),
      byChannel: Object.fromEntries(
        channelIds.map((channel) => [
          channel,
          record(momentKinds, (count) => channelOfNumber(count.channel) === channel),
        ]),
      ) as Record<ChannelId, Record<MomentKind, number>>,
    };
  });
}

function isOutcome(kind: MomentKind): boolean {
  return outcomeKinds.some((each) => each === kind);
}

// Steps begin at whole steps of UTC, so that a point says "from 10:04 to 10:05".
function planSteps({ startedAt, finishedAt }: MessageRun, nowMs: number) {
  const startedMs = startedAt?.getTime() ?? nowMs;
  const outcomes = stepFor((finishedAt?.getTime() ?? nowMs) - startedMs);
  const marks = nowMs - startedMs <= 4 * hourMs ? ('minute' as const) : ('hour' as const);
  // Both series begin at the same instant, a multiple of the longer step.
  const stepMs = 1000 * Math.max(secondsOf[outcomes], secondsOf[marks]);
  return {
    from: new Date(Math.floor(startedMs / stepMs) * stepMs),
    outcomes,
    marks,
    marksMost: (weekMs + (marks === 'minute' ? 0 : hourMs)) / 1000 / secondsOf[marks],
  };
}

/** Scales the counts of some batches, so that each kind has its exact total. */
function scale(
  counts: readonly MomentCount[],
  totals: Readonly<Record<MomentKind, number>>,
  isSample: boolean,
): readonly MomentCount[] {
  if (!isSample) return counts;
  const counted = new Map<MomentKind, number>();
  for (const { kind, count } of counts) counted.set(kind, (counted.get(kind) ?? 0) + count);
  return counts.map((each) => ({
    ...each,
    count: Math.round((each.count * totals[each.kind]) / (counted.get(each.kind) ?? 1)),
  }));
}

function series<Kind extends MomentKind>(
  from: Date,
  step: Step,
  kinds: readonly Kind[],
  counts: readonly MomentCount[],
): TimeSeries<Kind> {
  const own = counts.filter(({ kind }) => kinds.some((each) => each === kind));
  const last = own.reduce((most, count) => Math.max(most, count.step), -1);
  const nothing = Object.fromEntries(kinds.map((kind) => [kind, 0])) as Record<Kind, number>;
  const points = Array.from({ length: last + 1 }, (_, i) => ({
    at: new Date(from.getTime() + i * secondsOf[step] * 1000),
    ...nothing,
  }));
  for (const count of own) {
    const point = points[count.step] as Record<string, number> | undefined;
    if (point) point[count.kind] = (point[count.kind] ?? 0) + count.count;
  }
  return { step, points };
}
