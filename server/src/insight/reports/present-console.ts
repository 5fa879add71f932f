// The answers of the reports that only the console has: the same rows as JSON and as CSV. Pure.

import type { Answer } from '../../ground/http/server.ts';
import { errorCodes } from '../../sending/channels/error-code.ts';
import { csvAnswer } from './csv.ts';
import type { DeliverabilityReport, ServiceFigures } from './deliverability.ts';
import type { MessageFigures } from './message-figures.ts';
import type { Figures, Overview } from './overview.ts';
import { byCurrency, presentRange } from './present.ts';
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

/** The days by currency. */
export function overviewAsCsv({ days }: Overview): Answer<200> {
  const counts = ['accepted', 'sent', 'failed', 'clicked', 'active_devices'];
  const columns = ['from', 'to', ...counts, 'currency', 'total', 'direct', 'influenced'];
  return csvAnswer(columns, days.map(presentFigures).flatMap(byCurrency));
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
  const noErrors = Object.fromEntries(errorCodes.map((code) => [code, 0]));
  const rows = (group === null ? [{ ...range, services }] : periods).flatMap((period) =>
    period.services.map((figures) => {
      const { error_counts: errors, ...service } = presentService(figures);
      return { ...presentRange(period), ...service, ...noErrors, ...errors };
    }),
  );
  const columns = ['from', 'to', 'channel', 'provider', 'sent', 'failed', 'p50_ms', 'p95_ms'];
  return csvAnswer([...columns, ...errorCodes], rows);
}

export function presentMessageFigures(figures: MessageFigures) {
  const { accepted, read, outcomes, marks, later, byChannel, purchases, revenue } = figures;
  return { accepted, read, outcomes, marks, later_marks: later, by_channel: byChannel, purchases, revenue };
}
