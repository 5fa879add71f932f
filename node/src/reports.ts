// The methods for reports about a range of time.
import { pageLimit, type Query, type Request, type RequestOptions } from './endpoint.ts';
import { walk } from './pages.ts';
import type {
  DeviceReport,
  EngagementReport,
  EventReport,
  MessageEngagement,
  MessageRevenue,
  RevenueReport,
} from './types.gen.ts';

export interface Reports {
  /**
   * Purchases by currency and attribution, with one page of the messages that they are attributed
   * to.
   */
  revenue(query: Query<'reportRevenue'>, options?: RequestOptions): Promise<RevenueReport>;
  /** Every message that has revenue in the range, page by page. */
  revenueByMessage(
    query: Query<'reportRevenue'>,
    options?: RequestOptions,
  ): AsyncGenerator<MessageRevenue, void, undefined>;
  /**
   * Outcomes and marks of the messages that began in the range, with one page of these messages.
   */
  engagement(query: Query<'reportEngagement'>, options?: RequestOptions): Promise<EngagementReport>;
  /** Every message that began in the range, page by page. */
  engagementByMessage(
    query: Query<'reportEngagement'>,
    options?: RequestOptions,
  ): AsyncGenerator<MessageEngagement, void, undefined>;
  /** Devices registered, active, dead and opted out, by channel. */
  devices(query: Query<'reportDevices'>, options?: RequestOptions): Promise<DeviceReport>;
  /** Events by name. */
  events(query: Query<'reportEvents'>, options?: RequestOptions): Promise<EventReport>;
}

export function createReports(request: Request): Reports {
  const revenue: Reports['revenue'] = (query, options) => request('reportRevenue', { query }, options);
  const engagement: Reports['engagement'] = (query, options) => request('reportEngagement', { query }, options);
  return {
    revenue,
    revenueByMessage: (query, options) =>
      walk(async (cursor) => {
        const { messages, next_cursor } = await revenue({ limit: pageLimit, ...query, cursor }, options);
        return { data: messages, next_cursor };
      }, query.cursor),
    engagement,
    engagementByMessage: (query, options) =>
      walk(async (cursor) => {
        const { messages, next_cursor } = await engagement({ limit: pageLimit, ...query, cursor }, options);
        return { data: messages, next_cursor };
      }, query.cursor),
    devices: (query, options) => request('reportDevices', { query }, options),
    events: (query, options) => request('reportEvents', { query }, options),
  };
}
