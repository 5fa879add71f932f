// The log lines for an operator who looks for one batch, one delivery or one webhook request by its
// id.
import { expect, it } from 'vitest';
import { parseOutboundExceptions } from '../../src/ground/outbound/address-guard.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { decodeId, encodeId } from '../../src/ground/values/ids.ts';
import { createWebhook } from '../../src/sending/webhooks/manage-webhooks.ts';
import { setup } from '../setup.ts';
import { startWebhookReceiver } from '../webhook-receiver.ts';

interface Line {
  readonly msg: string;
  readonly level: number;
  readonly [field: string]: unknown;
}

const lines: Line[] = [];
const t = await setup({
  environment: {
    LOG_LEVEL: 'trace',
    OUTBOUND_ALLOW_PORTS: '1024-65535',
    WEBHOOK_FAILURE_PAUSE_MAX_MS: '0',
    WEBHOOK_RETRY_SCHEDULE: '1',
  },
  logTo: { write: (line) => void lines.push(JSON.parse(line)) },
});
const saying = (msg: string): Line[] => lines.filter((line) => line.msg === msg);

it('R-82 a batch, a failed delivery and a webhook attempt are one log line each, with all of their ids', async () => {
  const receiver = await startWebhookReceiver();
  receiver.answer = (request, response) => response.writeHead(request.event === 'message.failed' ? 500 : 204).end();
  const local = { allowCidrs: ['127.0.0.0/8'], allowPorts: '1024-65535', resolve: '', ca: undefined };
  const hook = await createWebhook(
    { sql: t.sql, clock: t.clock, by: t.by, seal: createSeal(t.masterKey) },
    { exceptions: parseOutboundExceptions(local), ownHosts: [] },
    { appId: t.app.id, endpoint: receiver.endpoint, events: [] },
  );
  const refusals: Readonly<Record<string, number>> = { gone: 410, unsigned: 403 };
  const devices: string[] = [await t.registerDevice()];
  for (const [name, status] of Object.entries(refusals)) {
    t.push.script(name, (_request, response) => {
      response.writeHead(status);
      response.end();
    });
    devices.push(await t.registerDevice({ token: t.pushSubscription(name) }));
  }
  const { body } = await t.server.post('/v1/messages', {
    audience: { device_ids: devices },
    content: { title: 'Sale' },
  });
  expect(body.report).toEqual({ accepted: 3, sent: 1, failed: 2, skipped: 0 });
  await receiver.count(3);
  await t.workers.idle();
  // The two failed events fail again, for the last time.
  t.clock.advance(2_000);
  t.workers.wakeWebhooks();
  await receiver.count(5);
  await t.workers.idle();

  const [batch] = await t.sql<{ id: string }[]>`SELECT id FROM batches`;
  const ids = { app_id: encodeId('app', t.app.id), message_id: body.id };
  expect(saying('batch worked')).toMatchObject([{ ...ids, batch_id: batch?.id, devices: 3, end: 'done' }]);

  const failed = saying('delivery failed');
  expect(failed).toHaveLength(2);
  for (const [device, errorCode, status] of [
    [devices[1], 'unregistered', 410],
    [devices[2], 'auth_failed', 403],
  ] as const) {
    expect(failed).toContainEqual(
      expect.objectContaining({
        ...ids,
        batch_id: batch?.id,
        device_id: device,
        channel: 'webpush',
        error_code: errorCode,
        provider_status: status,
        attempts: 1,
        latency_ms: expect.any(Number),
      }),
    );
  }

  const attempts = [...saying('webhook attempt'), ...saying('webhook event given up')];
  expect(saying('webhook event given up')).toHaveLength(2);
  const told = attempts.map(({ event_id, attempt, event, status_code, device_id }) =>
    [event_id, attempt, event, status_code, device_id].join(' '),
  );
  const asked = receiver.received.map(({ headers, event, body: { data } }) =>
    [
      ...[headers['service-id'], headers['service-attempt'], event, event === 'message.failed' ? 500 : 204],
      data.device_id,
    ].join(' '),
  );
  expect(told.sort()).toEqual(asked.sort());
  for (const line of attempts) {
    expect(line).toMatchObject({ ...ids, webhook_id: encodeId('whk', hook.id), ms: expect.any(Number) });
    expect(line).toHaveProperty('error', line['status_code'] === 204 ? null : 'http_status');
  }

  // Other lines name no device; docs/self-hosting.md lists those that do.
  const named = devices.flatMap((id) => [id, decodeId('dev', id) ?? id]);
  const naming = lines.filter((line) => named.some((id) => JSON.stringify(line).includes(id)));
  expect([...new Set(naming.map(({ msg }) => msg))].sort()).toEqual([
    'delivery failed',
    'webhook attempt',
    'webhook event given up',
  ]);
});
