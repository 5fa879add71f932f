import { beforeEach, describe, expect, it } from 'vitest';
import { addressOf } from './client.ts';
import { forget, keyOf, ofApp, pagesOf, queryClient, queryOf, refresh, whole } from './queries.ts';

describe('the address of an operation', () => {
  it.each([
    [addressOf('getUser', { app: 'app_1', external_id: 'ü/1' }), '/apps/app_1/users/%C3%BC%2F1'],
    [addressOf('listUsers', { app: 'app_1', q: 'a b', limit: 4 }), '/apps/app_1/users?q=a+b&limit=4'],
    [addressOf('listUsers', { app: 'app_1', q: '', cursor: undefined }), '/apps/app_1/users'],
    [addressOf('setUp', { body: { secret: 's', name: 'n', email: 'e', password: 'p', organisation: 'o' } }), '/setup'],
  ])('%s', (address, expected) => {
    expect(address).toBe(`/console/api${expected}`);
  });
});

describe('the answers that a change concerns', () => {
  const app = 'app_1';
  const isStale = (key: readonly unknown[]) => queryClient.getQueryState(key)?.isInvalidated;
  const all = queryOf('listWebhooks', { app, ...whole }).queryKey;
  const pages = pagesOf('listWebhooks', { app, q: 'a' }, 'cursor').queryKey as readonly unknown[];
  const ofOther = queryOf('listWebhooks', { app: 'app_2', ...whole }).queryKey;
  const one = queryOf('getSegment', { app, id: 'seg_1' }).queryKey;

  beforeEach(() => {
    queryClient.clear();
    for (const key of [all, pages, ofOther, one]) queryClient.setQueryData<unknown>(key, {});
  });

  it('are those of the operation with these parameters, whatever the others are', async () => {
    await refresh('listWebhooks', { app });
    expect([all, pages, ofOther, one].map(isStale)).toEqual([true, true, false, false]);
  });

  it('are those of several operations', async () => {
    await refresh(['listWebhooks', 'getSegment']);
    expect([all, pages, ofOther, one].map(isStale)).toEqual([true, true, true, true]);
  });

  it('are dropped when their object is gone', () => {
    forget(['getSegment'], { app, id: 'seg_1' });
    expect(queryClient.getQueryData(keyOf('getSegment', { app, id: 'seg_1' }))).toBeUndefined();
    expect(queryClient.getQueryData(all)).toEqual({});
  });

  it('are all those of an app', () => {
    queryClient.removeQueries(ofApp(app));
    expect(
      queryClient
        .getQueryCache()
        .getAll()
        .map(({ queryKey }) => queryKey),
    ).toEqual([ofOther]);
  });
});
