// The results of the messages that began in a range: sent, displayed, clicked, and the purchases
// credited to them at any later time.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { parseDecimal } from '../../ground/values/decimal.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { getAttributionWindowHours } from '../../teams/apps/queries.ts';
import { findSettled } from './attribution-queries.ts';
import { createClassedSums, type RevenueRow } from './classed-sums.ts';
import {
  type CreditedRevenue,
  type Funnel,
  listCreditedRevenue,
  listFunnels,
  type MessageFunnel,
  sumCreditedRevenue,
  sumFunnels,
} from './engagement-queries.ts';
import type { Range } from './periods.ts';
import { openCredits } from './read-credits.ts';
import { type ReportReader, snapshot } from './snapshot.ts';
import type { Tallied } from './tally.ts';

export interface EngagementAsked {
  readonly appId: Uuid;
  readonly range: Range;
  /** The parts of the range that have sums of their own, in order and without gaps. */
  readonly periods: readonly Range[];
  readonly after: { readonly startedAt: string; readonly messageId: Uuid } | null;
  readonly limit: number;
}

export type CurrencyRevenue = Pick<RevenueRow, 'currency' | 'direct' | 'influenced'>;

export interface Earned {
  readonly purchases: number;
  /** By currency, in alphabetical order. */
  readonly revenue: readonly CurrencyRevenue[];
}

export interface EngagementReport {
  readonly periods: readonly (Range & Funnel & Earned)[];
  readonly messages: readonly (MessageFunnel & Earned)[];
}

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
  const windowHours = await getAttributionWindowHours(tx, appId);
  const since: Range = { fromMs, toMs: endMs };
  const settled = await findSettled(tx, appId);
  const asked = { windowHours, periods: [since], settled, usesAhead: true };
  const credits = await openCredits({ tx, clock, appId }, asked);
  await credits.readUnsettled('purchase', since);
  return credits.tally.rows();
}

/** Adds up the credits of a message or a period. */
export function earned(rows: readonly CreditedRevenue[]): Earned {
  const sums = createClassedSums([]);
  for (const { class: ofClass, currency, count, amount } of rows) {
    sums.add(ofClass, { period: 0, name: 'purchase', currency, count, amount: parseDecimal(amount) });
  }
  return {
    purchases: rows.reduce((sum, { count }) => sum + count, 0),
    revenue: sums.revenueOf(0).map(({ currency, direct, influenced }) => ({ currency, direct, influenced })),
  };
}
