// The answers of the reports that only the console has: the same rows as JSON and as CSV. Pure.
import { errorCodes } from '../channels/error-code.ts';
import type { Answer } from '../http/server.ts';
import { type Cell, csvAnswer } from './csv.ts';
import type { DeliverabilityReport, ServiceFigures } from './deliverability.ts';
import type { MessageFigures } from './message-figures.ts';
import type { Figures, Overview } from './overview.ts';
import { presentRange } from './present.ts';
import type { AskedRange } from './report-request.ts';

function presentFigures({ fromMs, toMs, activeDevices, ...figures }: Figures) {
  const { accepted, sent, failed, clicked, revenue } = figures;
  const counts = { accepted, sent, failed, clicked, active_devices: activeDevices };
  return { ...presentRange({ fromMs, toMs }), ...counts, revenue };
}

export function presentOverview(zone: string, { spans, days }: Overview) {
  return {
    tz: zone,
    spans: spans.map(({ name, now, before }) => ({ name, now: presentFigures(now), before: presentFigures(before) })),
    days: days.map(presentFigures),
  };
}

/** The days: one row for each currency, and one without a currency when there were no purchases. */
export function overviewAsCsv({ days }: Overview): Answer<200> {
  const counts = ['accepted', 'sent', 'failed', 'clicked', 'active_devices'] as const;
  const sums = ['currency', 'total', 'direct', 'influenced'] as const;
  const rows = days.flatMap((day) => {
    const { from, to, revenue, ...figures } = presentFigures(day);
    const cells: Cell[] = [from, to, ...counts.map((name) => figures[name])];
    if (revenue.length === 0) return [[...cells, null, null, null, null]];
    return revenue.map((row) => [...cells, ...sums.map((name) => row[name])]);
  });
  return csvAnswer(['from', 'to', ...counts, ...sums], rows);
}

function presentService({ channel, provider, sent, failed, errorCounts, p50Ms, p95Ms }: ServiceFigures) {
  return { channel, provider, sent, failed, error_counts: errorCounts, p50_ms: p50Ms, p95_ms: p95Ms };
}

export function presentDeliverability({ range, zone, group }: AskedRange, { services, periods }: DeliverabilityReport) {
  const groups = periods.map((period) => ({
    ...presentRange(period),
    services: period.services.map(presentService),
  }));
  return {
    ...presentRange(range),
    services: services.map(presentService),
    ...(group !== null && { tz: zone, group, groups }),
  };
}

/** One row for each service of a period, with a column for each code of a failure. */
export function deliverabilityAsCsv(
  { range, group }: AskedRange,
  { services, periods }: DeliverabilityReport,
): Answer<200> {
  const rows = (group === null ? [{ ...range, services }] : periods).flatMap((period) => {
    const { from, to } = presentRange(period);
    return period.services.map(({ channel, provider, sent, failed, errorCounts, p50Ms, p95Ms }): Cell[] => [
      ...[from, to, channel, provider, sent, failed, p50Ms, p95Ms],
      ...errorCodes.map((code) => errorCounts[code] ?? 0),
    ]);
  });
  const columns = ['from', 'to', 'channel', 'provider', 'sent', 'failed', 'p50_ms', 'p95_ms'];
  return csvAnswer([...columns, ...errorCodes], rows);
}

export function presentMessageFigures(figures: MessageFigures) {
  const { accepted, read, outcomes, marks, later, byChannel, purchases, revenue } = figures;
  return { accepted, read, outcomes, marks, later_marks: later, by_channel: byChannel, purchases, revenue };
}
