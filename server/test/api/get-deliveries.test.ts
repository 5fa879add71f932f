import { describe, expect, it } from 'vitest';
import { setup, unknownId } from '../setup.ts';

const t = await setup();
const content = { title: 'Sale', body: 'Now on' };

async function sendTo(tokens: readonly string[], app = t.app) {
  const server = t.clientOf(app.serverKey);
  const devices = [];
  for (const token of tokens) devices.push(await t.registerDevice({ token: t.pushSubscription(token) }, app));
  const { body } = await server.post('/v1/messages', { audience: { device_ids: devices }, content });
  return { id: body.id as string, devices, report: body.report, server };
}

describe('200', () => {
  it("returns the provider's raw answer of a success byte for byte, first as stored whole and later as a form", async () => {
    const { id, devices, server } = await sendTo(['ok-1']);
    // The third answer of the same shape is stored as a form. It must read the same.
    await sendTo(['ok-2']);
    const formed = await sendTo(['ok-3']);
    const [row] =
      await t.sql`SELECT form, timeline FROM deliveries d JOIN batches b ON b.id = d.batch_id ORDER BY d.done_at DESC LIMIT 1`;
    expect(row).toMatchObject({ timeline: null });
    expect(row?.['form']).not.toBeNull();

    for (const [message, device, token] of [
      [id, devices[0], 'ok-1'],
      [formed.id, formed.devices[0], 'ok-3'],
    ]) {
      const { status, body } = await server.get(`/v1/messages/${message}/deliveries`);
      expect(status).toBe(200);
      expect(Object.keys(body)).toEqual(['message_id', 'status', 'report', 'data', 'has_more', 'next_cursor']);
      const [delivery] = body.data;
      expect(Object.keys(delivery)).toEqual([
        'device_id',
        'external_id',
        'platform',
        'channel',
        'status',
        'error_code',
        'attempts',
        'queued_at',
        'sent_at',
        'failed_at',
        'displayed_at',
        'clicked_at',
        'dismissed_at',
        'action',
        'provider_message_id',
        'timeline',
      ]);
      expect(delivery).toMatchObject({
        device_id: device,
        platform: 'web',
        channel: 'webpush',
        status: 'sent',
        error_code: null,
        attempts: 1,
        failed_at: null,
        provider_message_id: `https://push.test.example/m/${token}-1`,
      });
      expect(delivery.timeline).toMatchObject([
        { type: 'queued' },
        {
          type: 'attempt',
          attempt: 1,
          outcome: 'sent',
          error_code: null,
          retry_at: null,
          provider: {
            name: 'webpush',
            http_status: 201,
            headers: { location: `https://push.test.example/m/${token}-1` },
            body: null,
            truncated: false,
            transport_error: null,
          },
        },
      ]);
    }
  });

  it('R-16 shows a dead subscription, retires its device, and skips it the next time', async () => {
    const app = await t.newApp();
    t.push.script('gone', (_request, response) => {
      response.writeHead(410, { 'content-type': 'application/json' });
      response.end('{"code":410,"errno":106,"message":"gone"}');
    });
    const { id, devices, report, server } = await sendTo(['gone', 'alive'], app);
    expect(report).toEqual({ accepted: 2, sent: 1, failed: 1, skipped: 0 });
    await t.judged();
    const { body } = await server.get(`/v1/messages/${id}/deliveries?status=failed`);
    expect(body.data).toHaveLength(1);
    expect(body.data[0]).toMatchObject({
      device_id: devices[0],
      error_code: 'unregistered',
      attempts: 1,
      sent_at: null,
    });
    expect(body.data[0].failed_at).not.toBeNull();
    expect(body.data[0].timeline.map((entry: { type: string }) => entry.type)).toEqual([
      'queued',
      'attempt',
      'device_invalidated',
    ]);
    expect(body.data[0].timeline[1].provider).toMatchObject({
      http_status: 410,
      body: '{"code":410,"errno":106,"message":"gone"}',
    });
    expect((await server.get('/v1/devices?status=invalid')).body.data).toMatchObject([
      { id: devices[0], status_reason: 'unregistered' },
    ]);
    const again = await server.post('/v1/messages', { audience: { all: true }, content });
    expect(again.body.report).toEqual({ accepted: 1, sent: 1, failed: 0, skipped: 0 });
  });

  it('shows every attempt of a retried delivery, and no other device is pushed to twice', async () => {
    const app = await t.newApp();
    t.push.script('flaky', (request, response, count) => {
      if (count === 1) {
        response.writeHead(503, { 'retry-after': '1', 'content-type': 'text/plain' });
        response.end('busy');
      } else {
        response.writeHead(201, { location: `https://push.test.example/m/${request.token}` });
        response.end();
      }
    });
    const { id, server } = await sendTo(['flaky', 'steady'], app);
    await expect
      .poll(async () => (await server.get(`/v1/messages/${id}`)).body.report)
      .toMatchObject({ accepted: 2, sent: 2, failed: 0 });
    const { body } = await server.get(`/v1/messages/${id}/deliveries`);
    const flaky = body.data.find((delivery: { attempts: number }) => delivery.attempts === 2);
    expect(flaky.timeline).toMatchObject([
      { type: 'queued' },
      {
        type: 'attempt',
        attempt: 1,
        outcome: 'retry',
        error_code: 'provider_unavailable',
        provider: { http_status: 503, body: 'busy', headers: { 'retry-after': '1' } },
      },
      { type: 'attempt', attempt: 2, outcome: 'sent', error_code: null, provider: { http_status: 201 } },
    ]);
    expect(flaky.timeline[1].retry_at).not.toBeNull();
    const [first, second] = t.push.requestsOf('flaky');
    expect(second?.headers['topic']).toBe(first?.headers['topic']);
    expect(t.push.requestsOf('steady')).toHaveLength(1);
  });

  it('returns each delivery exactly once over its pages, in a stable order', async () => {
    const app = await t.newApp();
    const { id, devices, server } = await sendTo(
      Array.from({ length: 7 }, (_, i) => `page-${i}`),
      app,
    );
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await server.get(`/v1/messages/${id}/deliveries?limit=3${query}`);
      seen.push(...body.data.map((delivery: { device_id: string }) => delivery.device_id));
      expect(body.has_more).toBe(body.next_cursor !== null);
      cursor = body.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual([...devices].sort());
  });

  it('filters by status, channel, device and code, combined with AND', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const web = await t.registerDevice({}, app);
    const phone = await t.registerDevice({ platform: 'ios', token: 'cd'.repeat(32) }, app);
    const { body } = await server.post('/v1/messages', { audience: { all: true }, content });
    const ids = async (query: string) =>
      (await server.get(`/v1/messages/${body.id}/deliveries?${query}`)).body.data.map(
        (one: { device_id: string }) => one.device_id,
      );
    expect(await ids('status=skipped')).toEqual([phone]);
    expect(await ids('error_code=not_configured')).toEqual([phone]);
    expect(await ids('channel=webpush')).toEqual([web]);
    expect(await ids(`device_id=${web}`)).toEqual([web]);
    expect(await ids(`device_id=${web}&status=skipped`)).toEqual([]);
    expect(await ids(`device_id=${unknownId('dev')}`)).toEqual([]);
    expect(await ids('device_id=nonsense')).toEqual([]);
  });

  it('shows the user that the device belonged to when it was sent', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const device = await t.registerDevice({}, app);
    await server.post('/v1/users', { external_id: 'ada', device_id: device });
    const { body } = await server.post('/v1/messages', { audience: { all: true }, content });
    await server.post('/v1/users', { external_id: 'bob', device_id: device });
    const { body: page } = await server.get(`/v1/messages/${body.id}/deliveries`);
    expect(page.data).toMatchObject([{ external_id: 'ada' }]);
  });
});

describe('400', () => {
  it.each([
    ['limit=0', ['limit']],
    ['limit=501', ['limit']],
    ['limit=ten', ['limit']],
    ['status=lost', ['status']],
    ['channel=sms', ['channel']],
    ['error_code=oops', ['error_code']],
    ['cursor=nonsense', ['cursor']],
    ['color=red', ['color']],
    ['status=sent&status=failed', ['status']],
  ])('%s', async (query, path) => {
    const { id } = await sendTo([`bad-${query}`.replaceAll(/[^a-z0-9-]/g, '-')]);
    const { status, body } = await t.server.get(`/v1/messages/${id}/deliveries?${query}`);
    expect(status).toBe(400);
    expect(body.issues[0].path).toEqual(path);
  });

  it('a cursor of other filters, of another message, or altered', async () => {
    const app = await t.newApp();
    const { id, server } = await sendTo(['c-1', 'c-2'], app);
    const other = await sendTo(['c-3'], app);
    const { next_cursor: cursor } = (await server.get(`/v1/messages/${id}/deliveries?limit=1`)).body;
    const pages = [
      `/v1/messages/${id}/deliveries?limit=1&status=sent&cursor=${cursor}`,
      `/v1/messages/${other.id}/deliveries?cursor=${cursor}`,
      `/v1/messages/${id}/deliveries?cursor=${cursor.slice(0, -2)}xx`,
    ];
    for (const page of pages) {
      const { status, body } = await server.get(page);
      expect(status).toBe(400);
      expect(body.issues).toMatchObject([{ path: ['cursor'], code: 'invalid_value' }]);
    }
  });
});

describe('403 and 404', () => {
  it('a client key is refused', async () => {
    expect(await t.client.get(`/v1/messages/${unknownId('msg')}/deliveries`)).toMatchObject({ status: 403 });
  });

  it("R-60 another app's message gives exactly the answer of a missing one", async () => {
    const { id } = await sendTo(['foreign']);
    const other = t.clientOf((await t.newApp()).serverKey);
    for (const message of [id, unknownId('msg'), 'msg_nonsense']) {
      const { status, body } = await other.get(`/v1/messages/${message}/deliveries`);
      expect(status).toBe(404);
      expect({ ...body, request_id: '' }).toEqual({
        error: 'not_found',
        message: `No message ${message} in this app.`,
        request_id: '',
      });
    }
  });
});
