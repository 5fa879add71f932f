// The first requests of pages. The routes make them while a page's script is loaded, and the page
// makes the same requests by itself.
import type { Question } from '../api/ask-ahead.ts';
import type { Given } from '../api/client.ts';
import { queryOf } from '../api/queries.ts';
import { browserZone, type ReportView, rangeBefore, rangeOf, readView } from './report-view.ts';

/** The most rows by message that one report has. */
export const reportRows = 200;

/** Messages on the first page of an app. */
export const newestShown = 10;

export const overviewQuestions = (app: string) => ({
  newest: queryOf('listMessages', { app, limit: newestShown }),
  figures: queryOf('getOverview', { app, tz: browserZone }),
});

/** The question that all parts of the report of revenue have in common. */
export const askedOf = (app: string, view: ReportView): Given<'reportRevenue'> => ({
  app,
  ...rangeOf(view),
  window_hours: view.windowHours,
  limit: reportRows,
});

export function revenueQuestions(app: string, view: ReportView) {
  const asked = askedOf(app, view);
  return {
    grouped: queryOf('reportRevenue', { ...asked, group: view.group }),
    before: queryOf('reportRevenue', { ...asked, ...rangeBefore(view) }),
  };
}

export const engagementQuestions = (app: string, view: ReportView) => ({
  grouped: queryOf('reportEngagement', { app, ...rangeOf(view), group: view.group, limit: reportRows }),
  before: queryOf('reportEngagement', { app, ...rangeBefore(view), group: view.group, limit: reportRows }),
});

export const audienceQuestions = (app: string, view: ReportView) => ({
  grouped: queryOf('reportDevices', { app, ...rangeOf(view), group: view.group }),
  before: queryOf('reportDevices', { app, ...rangeBefore(view) }),
});

export const deliverabilityQuestions = (app: string, view: ReportView) => ({
  grouped: queryOf('reportDeliverability', { app, ...rangeOf(view), group: view.group }),
  before: queryOf('reportDeliverability', { app, ...rangeBefore(view) }),
});

/** The requests of a report whose view is in the address. */
export const ofView =
  (questionsOf: (app: string, view: ReportView) => Readonly<Record<string, Question>>) =>
  (app: string, search: URLSearchParams): readonly Question[] =>
    Object.values(questionsOf(app, readView(search, Date.now())));
