import { describe, expect, it } from 'vitest';
import { certificateFile } from '../../../rig/src/certificate.ts';
import { startWebhookReceiver } from '../webhook-receiver.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();
const reaching = {
  OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
  OUTBOUND_ALLOW_PORTS: '1024-65535',
  OUTBOUND_CA_FILE: certificateFile,
};
const endpoint = 'https://hooks.shop.example/push';
const backwards = ['--from', '2026-12-02T00:00:00Z', '--to', '2026-12-01T00:00:00Z'];

describe('webhook', () => {
  it('create prints the secret once; list, disable, enable and delete never do', async () => {
    const { publicId } = await cli.newApp('Shop');
    const made = await cli.json('webhook', 'create', publicId, endpoint, '--event', 'message.failed');
    expect(made).toEqual({
      id: expect.stringMatching(/^whk_\w{22}$/),
      endpoint,
      events: ['message.failed'],
      state: 'enabled',
      consecutive_failures: 0,
      held_events: 0,
      rotation: null,
      last_test: null,
      secret: expect.stringMatching(/^whsec_[\w-]{43}$/),
      created_at: expect.stringMatching(/Z$/),
    });
    const { secret, ...shown } = made;
    expect(await cli.json('webhook', 'list', publicId)).toEqual({ webhooks: [shown] });
    expect((await cli.json('webhook', 'disable', made.id)).state).toBe('disabled');
    expect((await cli.json('webhook', 'enable', made.id)).state).toBe('enabled');
    expect(await cli.json('webhook', 'attempts', made.id)).toEqual({ attempts: [] });
    expect(await cli.json('webhook', 'delete', made.id)).toEqual({ id: made.id, deleted: true });
    expect(await cli.json('webhook', 'list', publicId)).toEqual({ webhooks: [] });
    expect(cli.printed.filter((text) => text.includes(secret))).toHaveLength(1);
    const stored = await cli.sql`SELECT 1 FROM webhooks w WHERE w::text LIKE ${`%${secret}%`}`;
    expect(stored).toHaveLength(0);
  });

  it('rotate makes a pending secret, and finish ends the rotation', async () => {
    const { publicId } = await cli.newApp('Rotating');
    const { id, secret } = await cli.json('webhook', 'create', publicId, endpoint);
    const rotated = await cli.json('webhook', 'rotate', id, '--dual');
    expect(rotated.rotation).toEqual({ created_at: expect.stringMatching(/Z$/), finish_at: null, dual: true });
    expect(rotated.secret).not.toBe(secret);
    expect((await cli.json('webhook', 'finish', id)).rotation).toBeNull();
    expect(await cli.run('webhook', 'finish', id)).toMatchObject(refusal(/No new secret is pending/));
  });

  it("test prints the endpoint's answer, and fails when it did not acknowledge", async () => {
    const { publicId } = await cli.newApp('Testing');
    const receiver = await startWebhookReceiver();
    const { json } = await cli.runWith(reaching, 'webhook', 'create', publicId, receiver.endpoint, '--json');
    const fine = await cli.runWith(reaching, 'webhook', 'test', json.id, '--json');
    expect(fine).toMatchObject({ status: 0, json: { status_code: 200, error: null } });
    receiver.answer = (_request, response) => response.writeHead(404).end();
    expect(await cli.runWith(reaching, 'webhook', 'test', json.id)).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^status 404, \d+ ms\n$/),
      stderr: expect.stringContaining('The endpoint did not acknowledge: http_status.'),
    });
  });

  it('replay prints how many events of the period it queued, and refuses a disabled webhook', async () => {
    const { publicId } = await cli.newApp('Replaying');
    const { id } = await cli.json('webhook', 'create', publicId, endpoint, '--event', 'message.sent');
    const times = ['--from', '2026-11-01T00:00:00Z', '--to', '2026-11-02T00:00:00+01:00'];
    expect(await cli.json('webhook', 'replay', id, ...times)).toEqual({
      id,
      from: '2026-11-01T00:00:00.000Z',
      to: '2026-11-01T23:00:00.000Z',
      queued: 0,
      queued_before: 0,
      complete: true,
    });
    expect(await cli.run('webhook', 'replay', id, ...times)).toMatchObject({
      stdout: '0 events of that period will be told again.\n',
    });
    expect(await cli.run('webhook', 'replay', id, ...times, '--event', 'message.clicked')).toMatchObject(
      refusal(/The webhook is not subscribed to these events: it is told of message.sent/),
    );
    await cli.json('webhook', 'disable', id);
    expect(await cli.run('webhook', 'replay', id, ...times)).toMatchObject(refusal(/enable it first/));
  });

  it.concurrent.each([
    ['an address that is not https', ['create', 'Wrong', 'http://hooks.shop.example/'], /https/],
    ['a raw address', ['create', 'Wrong', 'https://8.8.8.8/'], /public host name/],
    ['a private name', ['create', 'Wrong', 'https://intranet/'], /not a public host name/],
    ['another port', ['create', 'Wrong', 'https://hooks.shop.example:8080/'], /Port 8080/],
    ['an event that there is not', ['create', 'Wrong', endpoint, '--event', 'message.read'], /no event 'message.read'/],
    ['a webhook that there is not', ['enable', 'whk_0000000000000000000000'], /There is no webhook/],
    ['a replay without an end', ['replay', 'whk_0000000000000000000000', '--from', '2026-12-01T00:00:00Z'], /--to/],
    ['a replay that ends before it begins', ['replay', 'whk_0', ...backwards], /--from must be before --to/],
    ['a time without an offset', ['rotate', 'whk_0000000000000000000000', '--finish-at', '2026-12-01'], /offset/],
  ])('refuses %s', async (_what, parameters, line) => {
    await wrong;
    expect(await cli.run('webhook', ...parameters)).toMatchObject(refusal(line));
  });

  it('refuses the eleventh webhook of an app', async () => {
    const { publicId } = await cli.newApp('Many');
    await cli.sql`
      INSERT INTO webhooks (app_id, id, endpoint, secret, created_at)
      SELECT id, md5(n::text)::uuid, 'https://hooks.shop.example/', 'x', now() FROM apps, generate_series(1, 10) n
      WHERE name = 'Many'`;
    expect(await cli.run('webhook', 'create', publicId, endpoint)).toMatchObject(refusal(/at most 10 webhooks/));
  });
});

const wrong = cli.newApp('Wrong');
