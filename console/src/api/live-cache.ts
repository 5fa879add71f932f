// Writes an event of the live feed into the console's cache of answers. The feed's objects have the
// form of the lists' rows, so a row is replaced in place, and nothing is requested again.
import type { InfiniteData, QueryClient } from '@tanstack/react-query';
import type { Credential, ListedMessage, LiveEvent, Message, MessagePage, Webhook, WebhookState } from './objects.ts';

type Rows<Row> = { readonly data: readonly Row[] };

/** Applies one event. The first event of a stream is the whole state, also after a reconnection. */
export function applyLive(client: QueryClient, app: string, event: LiveEvent): void {
  switch (event.type) {
    case 'state':
      for (const message of event.messages) putMessage(client, app, message);
      client.setQueryData<Rows<Credential>>(
        ['app', app, 'channels'],
        (before) => before && { ...before, data: event.channels },
      );
      for (const webhook of event.webhooks) putWebhook(client, app, webhook);
      notePause(client, event.paused);
      break;
    case 'message':
      putMessage(client, app, event.message);
      break;
    case 'channel':
      putChannel(client, app, event.channel);
      break;
    case 'webhook':
      putWebhook(client, app, event.webhook);
      break;
    case 'webhook_removed':
      void client.invalidateQueries({ queryKey: ['app', app, 'webhooks'] });
      break;
    case 'pause':
      notePause(client, event.paused);
  }
}

/** Ids of messages for which the lists were read again. */
const noticed = new Set<string>();

function putMessage(client: QueryClient, app: string, message: ListedMessage): void {
  let isListed = false;
  const put = (row: ListedMessage): ListedMessage => {
    if (row.id !== message.id) return row;
    isListed = true;
    return message;
  };
  client.setQueriesData<InfiniteData<MessagePage>>(
    { queryKey: ['app', app, 'messages'], predicate: isWalk },
    (before) => before && { ...before, pages: before.pages.map((page) => ({ ...page, data: page.data.map(put) })) },
  );
  client.setQueriesData<MessagePage>(
    { queryKey: ['app', app, 'messages', 'newest'] },
    (before) => before && { ...before, data: before.data.map(put) },
  );
  // A message that is in no list may be new, so the lists are read again, once for each such
  // message.
  if (!isListed && !noticed.has(message.id)) {
    noticed.add(message.id);
    void client.invalidateQueries({ queryKey: ['app', app, 'messages'] });
  }
  const page = ['app', app, 'message', message.id];
  const former = client.getQueryData<Message>(page);
  if (!former) return;
  const { title: _title, ...figures } = message;
  client.setQueryData<Message>(page, { ...former, ...figures });
  // The meaning of each failure comes with the message itself.
  if (JSON.stringify(former.error_counts) !== JSON.stringify(message.error_counts)) {
    void client.invalidateQueries({ queryKey: page, exact: true });
  }
  if (former.status !== message.status) void client.invalidateQueries({ queryKey: [...page, 'deliveries'] });
}

const isWalk = ({ queryKey }: { readonly queryKey: readonly unknown[] }): boolean => queryKey.includes('pages');

function putChannel(client: QueryClient, app: string, channel: Credential): void {
  client.setQueryData<Rows<Credential>>(['app', app, 'channels'], (before) => {
    if (!before) return before;
    const others = before.data.filter(({ credential_id }) => credential_id !== channel.credential_id);
    return { ...before, data: [channel, ...others] };
  });
}

function putWebhook(client: QueryClient, app: string, webhook: WebhookState): void {
  const lists = ['app', app, 'webhooks'];
  const known = client.getQueryData<Rows<Webhook>>(lists)?.data.find(({ id }) => id === webhook.id);
  if (!known) void client.invalidateQueries({ queryKey: lists });
  const put = (before: Webhook): Webhook => (before.id === webhook.id ? { ...before, ...webhook } : before);
  client.setQueriesData<InfiniteData<Rows<Webhook>>>(
    { queryKey: lists, predicate: isWalk },
    (before) => before && { ...before, pages: before.pages.map((page) => ({ ...page, data: page.data.map(put) })) },
  );
  client.setQueryData<Rows<Webhook>>(
    ['app', app, 'webhooks'],
    (before) => before && { ...before, data: before.data.map(put) },
  );
  const page = ['app', app, 'webhook', webhook.id];
  const former = client.getQueryData<Webhook>(page);
  if (!former) return;
  const now = put(former);
  client.setQueryData<Webhook>(page, now);
  // The feed has no counts of waiting events and no attempts, which are read separately.
  if (JSON.stringify(now) !== JSON.stringify(former)) void client.invalidateQueries({ queryKey: page });
}

function notePause(client: QueryClient, paused: boolean): void {
  const known = client.getQueryData<{ paused: boolean }>(['pause']);
  if (known?.paused !== paused) void client.invalidateQueries({ queryKey: ['pause'] });
}
