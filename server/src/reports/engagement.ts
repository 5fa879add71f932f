// The results of the messages that began in a range: sent, displayed, clicked, and the purchases
// credited to them at any later time.
import { getAttributionWindowHours } from '../apps/queries.ts';
import type { Clock } from '../database/clock.ts';
import type { Sql } from '../database/db.ts';
import { add, type Decimal, parseDecimal, writeDecimal, zero } from '../ground/decimal.ts';
import type { Uuid } from '../ground/ids.ts';
import {
  type CreditedRevenue,
  type Funnel,
  listCreditedRevenue,
  listFunnels,
  type MessageFunnel,
  sumCreditedRevenue,
  sumFunnels,
} from './engagement-queries.ts';
import { findOpen } from './open-events.ts';
import { type Group, periodsOf, type Range } from './periods.ts';
import { readUnsettled } from './read-credits.ts';
import { snapshot } from './snapshot.ts';
import { createTally } from './tally.ts';

export interface EngagementAsked {
  readonly appId: Uuid;
  readonly range: Range;
  readonly group: Group | null;
  readonly zone: string;
  readonly after: { readonly startedAt: string; readonly messageId: Uuid } | null;
  readonly limit: number;
}

export interface CurrencyRevenue {
  readonly currency: string;
  readonly direct: { readonly amount: string; readonly purchases: number };
  readonly influenced: { readonly amount: string; readonly purchases: number };
}

export interface Earned {
  readonly purchases: number;
  /** By currency, in alphabetical order. */
  readonly revenue: readonly CurrencyRevenue[];
}

export interface EngagementReport {
  readonly periods: readonly (Range & Funnel & Earned)[];
  readonly messages: readonly (MessageFunnel & Earned)[];
}

const hourMs = 3_600_000;
/** An instant later than every purchase. */
const endMs = Date.UTC(2200, 0, 1);
const nobody: Funnel = { accepted: 0, sent: 0, failed: 0, skipped: 0, displayed: 0, clicked: 0, dismissed: 0 };

export async function reportEngagement(
  { sql, clock }: { sql: Sql; clock: Clock },
  { appId, range, group, zone, after, limit }: EngagementAsked,
): Promise<EngagementReport> {
  return snapshot(sql, async (tx) => {
    const periods = periodsOf(range, group, zone);
    const tally = createTally();
    const windowHours = await getAttributionWindowHours(tx, appId);
    const windowMs = windowHours * hourMs;
    // A purchase from before the range is never credited to a message that began in the range.
    const since: Range = { fromMs: range.fromMs, toMs: endMs };
    const open = await findOpen(tx, appId, windowHours);
    const context = { tx, clock, appId, windowMs, startedAtMs: clock.steadyMs(), periods: [since], tally, open };
    await readUnsettled(context, 'purchase', since);
    const tallied = tally.rows();
    const messages = await listFunnels(tx, appId, range, after, limit);
    const ids = messages.map(({ messageId }) => messageId);
    const ofMessages = await listCreditedRevenue(tx, appId, ids, tallied);
    const funnels = new Map((await sumFunnels(tx, appId, range, periods)).map((row) => [row.period, row]));
    const ofPeriods = await sumCreditedRevenue(tx, appId, range, periods, tallied);
    return {
      periods: periods.map((period, i) => ({
        ...period,
        ...(funnels.get(i) ?? nobody),
        ...earned(ofPeriods.filter((row) => row.period === i)),
      })),
      messages: messages.map((message) => ({
        ...message,
        ...earned(ofMessages.filter(({ messageId }) => messageId === message.messageId)),
      })),
    };
  });
}

function earned(rows: readonly CreditedRevenue[]): Earned {
  const currencies = [...new Set(rows.map(({ currency }) => currency))].sort();
  const sumOf = (currency: string, ofClass: CreditedRevenue['class']): { amount: string; purchases: number } => {
    let amount: Decimal = zero;
    let purchases = 0;
    for (const row of rows) {
      if (row.currency !== currency || row.class !== ofClass) continue;
      amount = add(amount, parseDecimal(row.amount));
      purchases += row.count;
    }
    return { amount: writeDecimal(amount), purchases };
  };
  return {
    purchases: rows.reduce((sum, { count }) => sum + count, 0),
    revenue: currencies.map((currency) => ({
      currency,
      direct: sumOf(currency, 'direct'),
      influenced: sumOf(currency, 'influenced'),
    })),
  };
}
