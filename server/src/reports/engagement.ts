// The results of the messages that began in a range: sent, displayed, clicked, and the purchases
// credited to them at any later time.
import { getAttributionWindowHours } from '../apps/queries.ts';
import type { Clock } from '../database/clock.ts';
import type { Tx } from '../database/db.ts';
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
import type { Range } from './periods.ts';
import { readUnsettled } from './read-credits.ts';
import { type ReportReader, snapshot } from './snapshot.ts';
import { createTally, type Tallied } from './tally.ts';

export interface EngagementAsked {
  readonly appId: Uuid;
  readonly range: Range;
  /** The parts of the range that have sums of their own, in order and without gaps. */
  readonly periods: readonly Range[];
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
  { clock, ...reader }: ReportReader & { readonly clock: Clock },
  { appId, range, periods, after, limit }: EngagementAsked,
): Promise<EngagementReport> {
  return snapshot(reader, async (tx) => {
    // A purchase from before the range is never credited to a message that began in the range.
    const tallied = await readOpenPurchases({ tx, clock, appId }, range.fromMs);
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

/**
 * Sums the results of the messages that began in each period, without purchases: classes no event.
 */
export async function sumResults(
  reader: ReportReader,
  { appId, range, periods }: Pick<EngagementAsked, 'appId' | 'range' | 'periods'>,
): Promise<readonly Funnel[]> {
  const found = await snapshot(reader, (tx) => sumFunnels(tx, appId, range, periods));
  const funnels = new Map(found.map((row) => [row.period, row]));
  return periods.map((_, i) => funnels.get(i) ?? nobody);
}

/** Classes the unsettled purchases from an instant on. */
export async function readOpenPurchases(
  { tx, clock, appId }: { readonly tx: Tx; readonly clock: Clock; readonly appId: Uuid },
  fromMs: number,
): Promise<Tallied[]> {
  const tally = createTally();
  const windowHours = await getAttributionWindowHours(tx, appId);
  const since: Range = { fromMs, toMs: endMs };
  const open = await findOpen(tx, appId, windowHours);
  const context = { tx, clock, appId, startedAtMs: clock.steadyMs(), periods: [since], tally, open };
  await readUnsettled({ ...context, windowMs: windowHours * hourMs }, 'purchase', since);
  return tally.rows();
}

/** Adds up the credits of a message or a period. */
export function earned(rows: readonly CreditedRevenue[]): Earned {
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
