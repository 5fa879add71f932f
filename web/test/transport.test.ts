import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ApiError, NetworkError } from '../src/errors.ts';
import { callApi, sendReceipt } from '../src/transport.ts';
import { type Api, refusal, startApi } from './api.ts';

let api: Api;
let waits: number[];

beforeEach(async () => {
  vi.stubGlobal('navigator', { onLine: true });
  api = await startApi();
  waits = [];
});

afterEach(async () => {
  vi.unstubAllGlobals();
  await api.close();
});

const sleep = async (ms: number): Promise<void> => {
  waits.push(ms);
};
const service = (baseUrl = api.url) => ({ baseUrl, clientKey: 'ck_live_1' });
const getConfig = (baseUrl?: string) => callApi(service(baseUrl), { method: 'GET', path: '/v1/config' }, sleep);

async function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => expect.fail('it should have been refused'),
    (error: unknown) => error,
  );
}

describe('a request', () => {
  test('carries the key as a bearer token, JSON as JSON, and no cookies', async () => {
    await callApi(service(), { method: 'POST', path: '/v1/devices', body: { token: '{"endpoint":"https://a"}' } });
    expect(api.heard[0]).toMatchObject({
      method: 'POST',
      headers: { authorization: 'Bearer ck_live_1', 'content-type': 'application/json' },
      body: { token: '{"endpoint":"https://a"}' },
    });
    expect(api.heard[0]?.headers).not.toHaveProperty('cookie');
  });

  test('without a body has no content type', async () => {
    await getConfig();
    expect(api.heard[0]?.headers).not.toHaveProperty('content-type');
  });

  test("that is refused throws the service's own words, issues and request id", async () => {
    const issues = [{ path: ['locale'], code: 'invalid_format', message: 'Not a locale.' }];
    api.script('/v1/config', refusal(400, 'validation_failed', { issues }));
    const error = await errorOf(getConfig());
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      name: 'ApiError',
      status: 400,
      error: 'validation_failed',
      message: 'Because of validation_failed.',
      issues,
      requestId: 'req_body',
    });
    expect(api.heard).toHaveLength(1);
  });

  test('answered by something other than Carillon throws invalid_answer with the status', async () => {
    api.script('/v1/config', { status: 200, body: '<html>Log in to the hotel network</html>' });
    expect(await errorOf(getConfig())).toMatchObject({ status: 200, error: 'invalid_answer', requestId: 'req_1' });
  });
});

describe('a retry', () => {
  test.each([429, 502, 503, 504])('follows a %i and ends with the first success', async (status) => {
    api.script('/v1/config', refusal(status, 'unavailable'));
    await expect(getConfig()).resolves.toHaveProperty('vapid_public_key');
    expect(api.heard).toHaveLength(2);
  });

  test.each([400, 401, 403, 404, 500])('never follows a %i', async (status) => {
    api.script('/v1/config', refusal(status, 'no'));
    expect(await errorOf(getConfig())).toMatchObject({ status });
    expect(api.heard).toHaveLength(1);
  });

  test('waits at least as long as the service says, in milliseconds where it says so', async () => {
    const retryAfter = { headers: { 'retry-after': '7' } };
    api.script('/v1/config', { ...refusal(503, 'unavailable'), ...retryAfter });
    api.script('/v1/config', { ...refusal(429, 'rate_limited', { retry_after_ms: 5_100 }), ...retryAfter });
    await getConfig();
    expect(waits).toEqual([7_000, 5_100]);
  });

  test('backs off further each time and gives up after four tries', async () => {
    api.script('/v1/config', ...Array.from({ length: 9 }, () => refusal(503, 'unavailable')));
    expect(await errorOf(getConfig())).toMatchObject({ status: 503 });
    expect(api.heard).toHaveLength(4);
    expect(waits).toHaveLength(3);
    waits.forEach((ms, turn) => {
      expect(ms).toBeGreaterThanOrEqual(250 * 2 ** turn);
      expect(ms).toBeLessThanOrEqual(750 * 2 ** turn);
    });
  });

  test('is not made when the service asks for a longer wait than a page lives', async () => {
    api.script('/v1/config', { ...refusal(503, 'unavailable'), headers: { 'retry-after': '120' } });
    expect(await errorOf(getConfig())).toMatchObject({ status: 503, retryAfterMs: 120_000 });
    expect(waits).toEqual([]);
  });

  test('is made when no answer came, except when the browser knows that it is offline', async () => {
    const nobody = await startApi();
    await nobody.close();
    expect(await errorOf(getConfig(nobody.url))).toBeInstanceOf(NetworkError);
    expect(waits).toHaveLength(3);
    vi.stubGlobal('navigator', { onLine: false });
    expect(await errorOf(getConfig(nobody.url))).toBeInstanceOf(NetworkError);
    expect(waits).toHaveLength(3);
  });
});

describe('a receipt', () => {
  const receipt = { token: 't', event: 'clicked', action: 'open' } as const;

  test('is JSON as text/plain, so that no preflight is needed, and carries no key', async () => {
    await expect(sendReceipt(api.url, receipt)).resolves.toBe(true);
    expect(api.heard).toHaveLength(1);
    expect(api.heard[0]).toMatchObject({
      path: '/v1/receipts',
      headers: { 'content-type': 'text/plain' },
      body: receipt,
    });
    expect(api.heard[0]?.headers).not.toHaveProperty('authorization');
  });

  test('that is refused or cannot be sent resolves with false and never throws', async () => {
    api.script('/v1/receipts', refusal(404, 'not_found'));
    await expect(sendReceipt(api.url, receipt)).resolves.toBe(false);
    const nobody = await startApi();
    await nobody.close();
    await expect(sendReceipt(nobody.url, receipt)).resolves.toBe(false);
  });
});
