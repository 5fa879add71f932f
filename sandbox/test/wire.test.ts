// The TLS port itself: certificate, protocols, limits, and blind acceptance.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect as http2Connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Sandbox } from '../src/sandbox.ts';
import { ApplicationServer, bothProtocols, browser, Client, start } from './setup.ts';

const server = new ApplicationServer();

async function handshake(sandbox: Sandbox, servername: string, protocols: string[]) {
  const socket = connect({
    host: '127.0.0.1',
    port: sandbox.pushPort,
    servername,
    ca: sandbox.certificate,
    ALPNProtocols: protocols,
  });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  return { isTrusted: socket.authorized, protocol: socket.alpnProtocol };
}

describe('TLS', () => {
  test.each([
    'localhost',
    'api.push.apple.com',
    'oauth2.googleapis.com',
    'fcm.googleapis.com',
    'updates.push.services.mozilla.com',
    'web.push.apple.com',
  ])('is trusted as %s by a client that trusts the certificate', async (name) => {
    const sandbox = await start();
    expect(await handshake(sandbox, name, ['h2'])).toEqual({ isTrusted: true, protocol: 'h2' });
  });

  test('is trusted by a client that connects by address and so sends no server name', async () => {
    const sandbox = await start();
    expect(await handshake(sandbox, '', ['h2'])).toEqual({ isTrusted: true, protocol: 'h2' });
  });

  test('is refused under a name that was not configured', async () => {
    const sandbox = await start();
    await expect(handshake(sandbox, 'push.example.com', ['h2'])).rejects.toThrow(/does not match/);
  });

  test("speaks the client's preferred protocol; WNS never speaks HTTP/2", async () => {
    const sandbox = await start();
    expect((await handshake(sandbox, 'localhost', ['http/1.1', 'h2'])).protocol).toBe('http/1.1');
    const wns = await handshake(sandbox, 'wns2-sandbox.notify.windows.com', ['h2', 'http/1.1']);
    expect(wns.protocol).toBe('http/1.1');
    const only = await start({ protocols: ['h2'] });
    await expect(handshake(only, 'localhost', ['http/1.1'])).rejects.toThrow(/no application protocol/);
  });
});

test('an HTTP/2 client is told how many streams it may open', async () => {
  const sandbox = await start({ streamsMax: 7 });
  const session = http2Connect(sandbox.pushOrigin, { ca: sandbox.certificate });
  onTestFinished(() => session.destroy());
  const [settings] = await once(session, 'remoteSettings');
  expect(settings.maxConcurrentStreams).toBe(7);
});

test('a GOAWAY amid many streams: streams up to its last id are answered, later ones never processed', async () => {
  const sandbox = await start();
  const subscription = browser(sandbox, { vendor: 'generic', vapid_key: server.publicKey });
  sandbox.addFault({ match: { nth: 10 }, action: { type: 'goaway' } });
  const client = new Client(sandbox, 'h2');
  const goaway = once(client.session(), 'goaway');
  const results = await Promise.allSettled(Array.from({ length: 30 }, () => client.send(server, subscription)));
  const answered = results.filter((each) => each.status === 'fulfilled').length;
  const [, lastStreamId] = await goaway;
  expect(answered).toBe((lastStreamId + 1) / 2);
  expect(sandbox.log.counters()).toMatchObject({ accepted: answered, delivered: answered, unanswered: 1 });
});

test('connections are counted and can be cut', async () => {
  const sandbox = await start();
  const subscription = browser(sandbox, { vapid_key: server.publicKey });
  const client = new Client(sandbox, 'h2');
  await client.send(server, subscription);
  expect(sandbox.connections()).toBe(1);
  const closed = once(client.session(), 'close');
  sandbox.dropConnections();
  await closed;
  expect((await client.send(server, subscription)).status).toBe(201);
  expect(sandbox.log.counters().connections).toEqual({ h2: 2, http1: 0 });
});

describe.each(bothProtocols)('blind acceptance over %s', (protocol) => {
  test('answers 201 with a Location, unread, and counts', async () => {
    const sandbox = await start({ accept: 'blind', keepHistory: true });
    const subscription = browser(sandbox, { vendor: 'fcm', vapid_key: server.publicKey });
    const client = new Client(sandbox, protocol);
    const broken = { headers: { authorization: undefined, ttl: undefined, topic: 'msg' }, body: Buffer.from('?') };
    const first = await client.send(server, subscription, broken);
    const second = await client.send(server, subscription, broken);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(first.headers['location']).not.toBe(second.headers['location']);
    expect(sandbox.log.counters()).toMatchObject({ requests: 2, accepted: 2 });
    expect(sandbox.log.requests).toEqual([]);
    const token = subscription.endpoint.split('/').at(-1);
    expect(sandbox.log.history).toEqual([
      [token, expect.any(Number), 201, 'msg'],
      [token, expect.any(Number), 201, 'msg'],
    ]);
  });

  test('still applies faults', async () => {
    const sandbox = await start({ accept: 'blind' });
    const subscription = browser(sandbox, { vendor: 'fcm', vapid_key: server.publicKey });
    sandbox.addFault({ match: { nth: 2 }, action: { type: 'status', status: 429 } });
    const client = new Client(sandbox, protocol);
    const statuses = [];
    for (let index = 0; index < 3; index += 1) statuses.push((await client.send(server, subscription)).status);
    expect(statuses).toEqual([201, 429, 201]);
  });
});

describe('the command line', () => {
  function run(...argv: string[]) {
    const dataDir = mkdtempSync(join(tmpdir(), 'sandbox-cli-'));
    const main = new URL('../src/main.ts', import.meta.url).href;
    const code = `import(${JSON.stringify(main)}).then(async ({ main }) => { process.exitCode = await main(process.argv.slice(1)); })`;
    const child = spawn(process.execPath, ['--import', 'tsx', '-e', code, '--', '--data-dir', dataDir, ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
      rmSync(dataDir, { recursive: true, force: true });
    });
    const exit = once(child, 'close');
    let errors = '';
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    return { child, exit, errors: () => errors };
  }

  test('prints one JSON document of addresses when ready, and ends on SIGTERM with status 0', async () => {
    const { child, exit } = run('--port', '0', '--push-port', '0', '--json');
    const [chunk] = await once(child.stdout, 'data');
    const addresses = JSON.parse(String(chunk));
    expect((await fetch(`${addresses.control}/counters`)).status).toBe(200);
    expect(addresses.environment.OUTBOUND_ALLOW_PORTS.split(',')[0]).toBe(String(addresses.push_port));
    expect(addresses.environment.APNS_URL).toBe(addresses.apns_url);
    child.kill('SIGTERM');
    expect((await exit)[0]).toBe(0);
  });

  test.each([
    [['--port', 'http'], /--port must be a port number/],
    [['--receipts', 'carillon'], /--receipts must be an http or https address/],
    [['--colour'], /Unknown option '--colour'/],
  ])('refuses %j in one line', async (argv, message) => {
    const { exit, errors } = run(...argv);
    expect((await exit)[0]).toBe(1);
    expect(errors().trimEnd()).toMatch(message);
    expect(errors().trimEnd().split('\n')).toHaveLength(1);
  });
});
