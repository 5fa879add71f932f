// Writes an event of the live feed into the console's cache of answers. The feed's objects have the
// form of the lists' rows, so a row is replaced in place, and nothing is requested again.
import type { InfiniteData, QueryClient } from '@tanstack/react-query';
import type { Credential, ListedMessage, LiveEvent, Webhook, WebhookState } from './objects.ts';
import { isOfPages, keyOf, queryOf, whole } from './queries.ts';

type Rows<Row> = { readonly data: readonly Row[] };

/** Applies one event. The first event of a stream is the whole state, also after a reconnection. */
export function applyLive(client: QueryClient, app: string, event: LiveEvent): void {
  switch (event.type) {
    case 'state':
      for (const message of event.messages) putMessage(client, app, message);
      putRows<Credential>(client, keyOf('listChannels', { app }), () => event.channels);
      for (const webhook of event.webhooks) putWebhook(client, app, webhook);
      notePause(client, event.paused);
      break;
    case 'message':
      putMessage(client, app, event.message);
      break;
    case 'channel': {
      const { channel } = event;
      const others = (rows: readonly Credential[]) =>
        rows.filter(({ credential_id }) => credential_id !== channel.credential_id);
      putRows<Credential>(client, keyOf('listChannels', { app }), (rows) => [channel, ...others(rows)]);
      break;
    }
    case 'webhook':
      putWebhook(client, app, event.webhook);
      break;
    case 'webhook_removed':
      void client.invalidateQueries({ queryKey: keyOf('listWebhooks', { app }) });
      break;
    case 'pause':
      notePause(client, event.paused);
  }
}

/** Changes the rows of every list with this key, whether it was read at once or page by page. */
function putRows<Row>(
  client: QueryClient,
  queryKey: readonly unknown[],
  change: (rows: readonly Row[]) => readonly Row[],
): void {
  const put = (page: Rows<Row>) => ({ ...page, data: change(page.data) });
  client.setQueriesData<Rows<Row>>(
    { queryKey, predicate: (query) => !isOfPages(query) },
    (before) => before && put(before),
  );
  client.setQueriesData<InfiniteData<Rows<Row>>>(
    { queryKey, predicate: isOfPages },
    (before) => before && { ...before, pages: before.pages.map(put) },
  );
}

/** Ids of messages for which the lists were read again. */
const noticed = new Set<string>();

function putMessage(client: QueryClient, app: string, message: ListedMessage): void {
  const lists = keyOf('listMessages', { app });
  let isListed = false;
  putRows<ListedMessage>(client, lists, (rows) =>
    rows.map((row) => {
      if (row.id !== message.id) return row;
      isListed = true;
      return message;
    }),
  );
  // A message that is in no list may be new, so the lists are read again, once for each such
  // message.
  if (!isListed && !noticed.has(message.id)) {
    noticed.add(message.id);
    void client.invalidateQueries({ queryKey: lists });
  }
  const { queryKey } = queryOf('getMessage', { app, id: message.id });
  const former = client.getQueryData(queryKey);
  if (!former) return;
  const { title: _title, ...figures } = message;
  client.setQueryData(queryKey, { ...former, ...figures });
  // The meaning of each failure comes with the message itself.
  if (JSON.stringify(former.error_counts) !== JSON.stringify(message.error_counts)) {
    void client.invalidateQueries({ queryKey });
  }
  if (former.status !== message.status) {
    void client.invalidateQueries({ queryKey: keyOf('listDeliveries', { app, id: message.id }) });
  }
}

function putWebhook(client: QueryClient, app: string, webhook: WebhookState): void {
  const lists = keyOf('listWebhooks', { app });
  const known = client.getQueryData(queryOf('listWebhooks', { app, ...whole }).queryKey);
  if (!known?.data.some(({ id }) => id === webhook.id)) void client.invalidateQueries({ queryKey: lists });
  const put = (before: Webhook): Webhook => (before.id === webhook.id ? { ...before, ...webhook } : before);
  putRows<Webhook>(client, lists, (rows) => rows.map(put));
  const { queryKey } = queryOf('getWebhook', { webhook: webhook.id });
  const former = client.getQueryData(queryKey);
  if (!former) return;
  const now = put(former);
  client.setQueryData(queryKey, now);
  // The feed has no counts of waiting events and no attempts, which are read separately.
  if (JSON.stringify(now) === JSON.stringify(former)) return;
  void client.invalidateQueries({ queryKey });
  void client.invalidateQueries({ queryKey: keyOf('listWebhookAttempts', { webhook: webhook.id }) });
}

function notePause(client: QueryClient, paused: boolean): void {
  const { queryKey } = queryOf('getPause', {});
  if (client.getQueryData(queryKey)?.paused !== paused) void client.invalidateQueries({ queryKey });
}
