import { describe, expect, it } from 'vitest';
import { createDatabaseGate } from '../../../packages/postgres/test/database-gate.ts';
import { setup } from '../setup.ts';

const gate = createDatabaseGate();
const t = await setup({ workers: false, reachDatabase: (url) => gate.reach(url) });

/** The exact text, the order of the keys included (contract 5.11). */
const channels =
  '{"channels":[' +
  '{"id":"webpush","platform":"web","name":"Web push","max_payload_bytes":3993},' +
  '{"id":"apns","platform":"ios","name":"Apple push","max_payload_bytes":4096},' +
  '{"id":"fcm","platform":"android","name":"Android push","max_payload_bytes":4096}]}';

describe('GET /v1/channels', () => {
  it('lists the three channels', async () => {
    const { status, body } = await t.request('GET', '/v1/channels');
    expect(status).toBe(200);
    expect(JSON.stringify(body)).toBe(channels);
  });

  it('ignores an Authorization header, valid or not', async () => {
    for (const authorization of [`Bearer ${t.app.serverKey}`, 'Bearer nonsense', 'Basic eDp5', '']) {
      const { status, body } = await t.request('GET', '/v1/channels', { headers: { authorization } });
      expect(status).toBe(200);
      expect(JSON.stringify(body)).toBe(channels);
    }
  });

  it('has no pages', async () => {
    for (const query of ['limit=1', 'cursor=x']) {
      const { status, body } = await t.request('GET', `/v1/channels?${query}`);
      expect(status).toBe(400);
      expect(body.issues).toMatchObject([{ path: [query.split('=')[0]], code: 'unrecognized_keys' }]);
    }
  });

  it('needs no database', async () => {
    await gate.shut();
    expect((await t.request('GET', '/v1/channels')).status).toBe(200);
    await gate.open();
  });
});
