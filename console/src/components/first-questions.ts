// The first requests of pages. The routes make them while a page's script is loaded, and the page
// makes the same requests by itself.
import type { Question } from '../api/ask-ahead.ts';
import { queries } from '../api/queries.ts';
import { browserZone, type ReportView, rangeBefore, rangeOf, readView } from './report-view.ts';

/** Messages on the first page of an app. */
export const newestShown = 10;

export const overviewQuestions = (app: string) => ({
  newest: queries.newestMessages(app, newestShown),
  figures: queries.overview(app, browserZone),
});

export function revenueQuestions(app: string, view: ReportView) {
  const asked = { ...rangeOf(view), window_hours: view.windowHours };
  return {
    grouped: queries.revenue(app, { ...asked, group: view.group }),
    before: queries.revenue(app, { ...asked, ...rangeBefore(view) }),
  };
}

export const engagementQuestions = (app: string, view: ReportView) => ({
  grouped: queries.engagement(app, { ...rangeOf(view), group: view.group }),
  before: queries.engagement(app, { ...rangeBefore(view), group: view.group }),
});

export const audienceQuestions = (app: string, view: ReportView) => ({
  grouped: queries.audience(app, { ...rangeOf(view), group: view.group }),
  before: queries.audience(app, rangeBefore(view)),
});

export const deliverabilityQuestions = (app: string, view: ReportView) => ({
  grouped: queries.deliverability(app, { ...rangeOf(view), group: view.group }),
  before: queries.deliverability(app, rangeBefore(view)),
});

/** The requests of a report whose view is in the address. */
export const ofView =
  (questionsOf: (app: string, view: ReportView) => Readonly<Record<string, Question>>) =>
  (app: string, search: URLSearchParams): readonly Question[] =>
    Object.values(questionsOf(app, readView(search, Date.now())));
