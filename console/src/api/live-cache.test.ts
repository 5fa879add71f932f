import { QueryClient, type QueryKey } from '@tanstack/react-query';
import { beforeEach, describe, expect, it } from 'vitest';
import { applyLive } from './live-cache.ts';
import type { LiveEvent } from './objects.ts';
import { keyOf, pagesOf, whole } from './queries.ts';

const app = 'app_1';
let client: QueryClient;
const lists = pagesOf('listMessages', { app, q: undefined }).queryKey as QueryKey;
const page = keyOf('getMessage', { app, id: 'msg_1' });
const channelsKey = keyOf('listChannels', { app, ...whole });
const webhooksKey = keyOf('listWebhooks', { app, ...whole });
const message = (id: string, sent: number, error_counts = {}) => ({
  id,
  status: 'sending',
  report: { sent },
  error_counts,
});
const event = (given: object) => given as LiveEvent;
const isStale = (key: readonly unknown[]) => client.getQueryState(key)?.isInvalidated;

beforeEach(() => {
  client = new QueryClient();
  client.setQueryData(lists, {
    pages: [{ data: [message('msg_2', 0), message('msg_1', 0)] }],
    pageParams: [undefined],
  });
  client.setQueryData(page, { ...message('msg_1', 0), content: { title: 'Sale' }, failures: [] });
});

describe('an event of the live feed', () => {
  it('replaces the row of its message and the figures of its page, and asks for nothing', () => {
    applyLive(client, app, event({ type: 'message', message: message('msg_1', 7) }));
    expect(client.getQueryData(lists)).toMatchObject({
      pages: [
        {
          data: [
            { id: 'msg_2', report: { sent: 0 } },
            { id: 'msg_1', report: { sent: 7 } },
          ],
        },
      ],
    });
    expect(client.getQueryData(page)).toMatchObject({ report: { sent: 7 }, content: { title: 'Sale' } });
    expect([isStale(lists), isStale(page)]).toEqual([false, false]);
  });

  it('has the lists read again for a message that none of them has', () => {
    applyLive(client, app, event({ type: 'message', message: message('msg_3', 1) }));
    expect(isStale(lists)).toBe(true);
  });

  it('has the message read again when its failures changed, because their meaning comes with it', () => {
    applyLive(client, app, event({ type: 'message', message: message('msg_1', 7, { unregistered: 1 }) }));
    expect(isStale(page)).toBe(true);
  });

  it('is the whole state when a stream begins, so that nothing missed between two streams stays wrong', () => {
    client.setQueryData(channelsKey, { data: [{ credential_id: 1, health: 'ok' }] });
    client.setQueryData(webhooksKey, { data: [{ id: 'whk_1', state: 'enabled', held_events: 4 }] });
    client.setQueryData(keyOf('getPause'), { paused: false });
    const channels = [{ credential_id: 1, health: 'failing' }];
    const webhooks = [{ id: 'whk_1', state: 'disabled' }];
    applyLive(client, app, event({ type: 'state', messages: [message('msg_1', 9)], channels, webhooks, paused: true }));
    expect(client.getQueryData(channelsKey)).toEqual({ data: channels });
    expect(client.getQueryData(webhooksKey)).toEqual({
      data: [{ id: 'whk_1', state: 'disabled', held_events: 4 }],
    });
    expect(isStale(keyOf('getPause'))).toBe(true);
    expect(client.getQueryData(page)).toMatchObject({ report: { sent: 9 } });
  });
});
