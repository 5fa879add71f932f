// The figures of an app's first page: the last day, week and month, each beside the time before it,
// and the days of the month for the trends. Reads only what the page shows: installs, sessions and
// credits by message are classed for other reports.
import type { Uuid } from '../../ground/values/ids.ts';
import { createLocalClock } from '../../ground/values/local-clock.ts';
import { reportDevices } from './devices-report.ts';
import { sumResults } from './engagement.ts';
import { quarterMs, type Range } from './periods.ts';
import { type RevenueDeps, reportRevenue } from './revenue.ts';

export interface CurrencyTotals {
  readonly currency: string;
  readonly total: string;
  readonly direct: string;
  readonly influenced: string;
}

export interface Figures extends Range {
  /** Deliveries of the messages that began in the range. */
  readonly accepted: number;
  readonly sent: number;
  readonly failed: number;
  readonly clicked: number;
  /** At the end of the range. */
  readonly activeDevices: number;
  /** By currency, in alphabetical order. */
  readonly revenue: readonly CurrencyTotals[];
}

export const spanNames = ['yesterday', 'last_7_days', 'last_30_days'] as const;
export type SpanName = (typeof spanNames)[number];

export interface OverviewSpan {
  readonly name: SpanName;
  readonly now: Figures;
  /** The equally long range just before. */
  readonly before: Figures;
}

export interface Overview {
  readonly spans: readonly OverviewSpan[];
  /** The days of the zone, the last of them not over. */
  readonly days: readonly Figures[];
}

const dayMs = 86_400_000;
const shownDays = 30;

/**
 * The ranges of the overview, in days of a zone. Yesterday is a whole day. The last 7 and 30 days
 * end with this quarter of an hour, so that a message of today is among them. All ranges are whole
 * quarters, because sums are stored by quarters and single events are slow to class. Pure.
 */
export function overviewRanges(nowMs: number, zone: string) {
  const clock = createLocalClock(zone);
  const endMs = Math.ceil(nowMs / quarterMs) * quarterMs;
  const todayMs = Math.floor(clock.wallMs(nowMs) / dayMs) * dayMs;
  const startOfDay = (daysAgo: number): number => clock.instantMs(todayMs - daysAgo * dayMs);
  const ago = (days: number): number => clock.instantMs(clock.wallMs(endMs) - days * dayMs);
  const span = (fromMs: number, middleMs: number, toMs: number) => ({
    now: { fromMs: middleMs, toMs },
    before: { fromMs, toMs: middleMs },
  });
  const days = Array.from({ length: shownDays }, (_, i): Range => {
    const daysAgo = shownDays - 1 - i;
    return { fromMs: startOfDay(daysAgo), toMs: daysAgo === 0 ? endMs : startOfDay(daysAgo - 1) };
  });
  return {
    // A zone may have skipped a day, and at midnight today is still empty.
    days: days.filter(({ fromMs, toMs }) => fromMs < toMs),
    spans: {
      yesterday: span(startOfDay(2), startOfDay(1), startOfDay(0)),
      last_7_days: span(ago(14), ago(7), endMs),
      last_30_days: span(ago(60), ago(30), endMs),
    },
  };
}

export async function readOverview(
  deps: RevenueDeps,
  { appId, zone }: { readonly appId: Uuid; readonly zone: string },
): Promise<Overview> {
  const { spans, days } = overviewRanges(deps.clock.nowMs(), zone);
  const ranges = [...days, ...Object.values(spans).flatMap(({ now, before }) => [now, before])];
  const cuts = [...new Set(ranges.flatMap(({ fromMs, toMs }) => [fromMs, toMs]))].sort((a, b) => a - b);
  const periods = cuts.slice(1).map((toMs, i): Range => ({ fromMs: cuts[i] ?? toMs, toMs }));
  const range: Range = { fromMs: cuts[0] ?? 0, toMs: cuts.at(-1) ?? 0 };
  const asked = { appId, range, periods };
  const funnels = await sumResults(deps, asked);
  // The overview shows no rows of messages, so none are read.
  const ofApp = { windowHours: null, messageId: null, segment: null, after: null, limit: 0 };
  const { sums } = await reportRevenue(deps, { ...asked, ...ofApp, names: ['purchase'] });
  const devices = await reportDevices(deps, asked);

  const figuresOf = ({ fromMs, toMs }: Range): Figures => {
    const indexes = periods.flatMap((period, i) => (period.fromMs >= fromMs && period.toMs <= toMs ? [i] : []));
    const sumOf = (step: 'accepted' | 'sent' | 'failed' | 'clicked'): number =>
      indexes.reduce((sum, i) => sum + (funnels[i]?.[step] ?? 0), 0);
    const atEnd = devices[indexes.at(-1) ?? -1]?.channels ?? [];
    return {
      fromMs,
      toMs,
      accepted: sumOf('accepted'),
      sent: sumOf('sent'),
      failed: sumOf('failed'),
      clicked: sumOf('clicked'),
      activeDevices: atEnd.reduce((sum, { active }) => sum + active, 0),
      revenue: sums.revenueOf(...indexes).map(({ currency, total, direct, influenced }) => {
        return { currency, total, direct: direct.amount, influenced: influenced.amount };
      }),
    };
  };
  return {
    days: days.map(figuresOf),
    spans: spanNames.map((name) => ({
      name,
      now: figuresOf(spans[name].now),
      before: figuresOf(spans[name].before),
    })),
  };
}
