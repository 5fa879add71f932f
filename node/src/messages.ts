// The methods for messages and their deliveries.
import { randomUUID } from 'node:crypto';
import { pageLimit, type Query, type Request, type RequestOptions, type SendOptions } from './endpoint.ts';
import { walk } from './pages.ts';
import type {
  AcceptedMessage,
  Delivery,
  DeliveryPage,
  DryRun,
  ListedMessage,
  Message,
  MessageAnswer,
  MessagePage,
  MessageRequest,
  ScheduledMessage,
} from './types.gen.ts';

/** The type of the answer depends on the request: sent now, scheduled, or a dry run. */
export interface Send {
  (message: MessageRequest & { readonly dry_run: true }, options?: SendOptions): Promise<DryRun>;
  (
    message: MessageRequest & { readonly send_at: string; readonly dry_run?: false | null | undefined },
    options?: SendOptions,
  ): Promise<ScheduledMessage>;
  (
    message: MessageRequest & { readonly send_at?: null | undefined; readonly dry_run?: false | null | undefined },
    options?: SendOptions,
  ): Promise<AcceptedMessage>;
  (message: MessageRequest, options?: SendOptions): Promise<MessageAnswer>;
}

export interface Messages {
  /**
   * Sends now, or at `send_at`. All tries of one call send once, because they share an
   * Idempotency-Key. Set your own key to be safe across calls, too: a second send with it returns
   * the first message, with `replayed: true`.
   */
  readonly send: Send;
  /** One page, newest first. */
  list(query?: Query<'listMessages'>, options?: RequestOptions): Promise<MessagePage>;
  /** Every message, page by page. */
  all(query?: Query<'listMessages'>, options?: RequestOptions): AsyncGenerator<ListedMessage, void, undefined>;
  /** One message with its current numbers. */
  get(id: string, options?: RequestOptions): Promise<Message>;
  /** Cancels a message that is scheduled or being sent. */
  cancel(id: string, options?: RequestOptions): Promise<Message>;
  /** One page of the deliveries, one delivery for each device. */
  deliveries(id: string, query?: Query<'listDeliveries'>, options?: RequestOptions): Promise<DeliveryPage>;
  /** Every delivery, page by page. */
  allDeliveries(
    id: string,
    query?: Query<'listDeliveries'>,
    options?: RequestOptions,
  ): AsyncGenerator<Delivery, void, undefined>;
}

export function createMessages(request: Request): Messages {
  const send = (message: MessageRequest, options: SendOptions = {}): Promise<MessageAnswer> => {
    const { idempotencyKey = randomUUID() } = options;
    return request('sendMessage', { body: message }, { ...options, idempotencyKey });
  };
  const list: Messages['list'] = (query, options) => request('listMessages', { query }, options);
  const deliveries: Messages['deliveries'] = (id, query, options) =>
    request('listDeliveries', { params: { id }, query }, options);
  return {
    send: send as Send,
    list,
    all: (query, options) => walk((cursor) => list({ limit: pageLimit, ...query, cursor }, options), query?.cursor),
    get: (id, options) => request('getMessage', { params: { id } }, options),
    cancel: (id, options) => request('cancelMessage', { params: { id } }, options),
    deliveries,
    allDeliveries: (id, query, options) =>
      walk((cursor) => deliveries(id, { limit: pageLimit, ...query, cursor }, options), query?.cursor),
  };
}
