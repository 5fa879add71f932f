// The first hour of a newcomer: the commands of README, of docs/webhooks.md and of the console's
// sign-in page are run as they are written, in an empty folder. Only addresses, the printed secrets
// and the place of the checkout are put in.
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { curlOf } from '../../../console/src/components/curl.ts';
import { findFreePort } from '../../../rig/src/ports.ts';
import { whenDone } from '../../../rig/src/when-done.ts';
import { readBlocks } from './fenced-blocks.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const hasPrograms = ['bash', 'curl', 'openssl'].every((name) => spawnSync(name, ['--version']).error === undefined);

/** A folder like a checkout that was never started: the launcher, the server SDK, and no data. */
function newCheckout(): string {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-hour-'));
  // As root the database runs as another user, who has to reach it.
  chmodSync(folder, 0o755);
  for (const name of ['carillon', 'node']) symlinkSync(join(root, name), join(folder, name));
  whenDone(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const environment = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', LOG_LEVEL: 'silent' };

/** Runs commands as somebody types them into a shell in that folder. */
async function type(folder: string, commands: string, env: Record<string, string> = {}): Promise<string> {
  const done = await promisify(execFile)('bash', ['-ec', commands], { cwd: folder, env: { ...environment, ...env } });
  return done.stdout;
}

/** Runs a program beside them, and ends it and all that it started with the test. */
function launch(folder: string, commands: string, env: Record<string, string> = {}): ChildProcess {
  const child = spawn('bash', ['-c', `exec ${commands}`], {
    cwd: folder,
    env: { ...environment, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  whenDone(async () => {
    child.kill('SIGINT');
    await ended;
  });
  return child;
}

/** The first line that a program prints on one of its streams and that has what is looked for. */
async function printed(stream: NodeJS.ReadableStream | null, pattern: RegExp): Promise<string> {
  const seen: string[] = [];
  for await (const line of createInterface({ input: stream ?? process.stdin })) {
    const [, found] = pattern.exec(line) ?? [];
    if (found !== undefined) {
      stream?.resume();
      return found;
    }
    seen.push(line);
  }
  throw new Error(`it ended before ${pattern}: ${seen.join('\n')}`);
}

/** The block of a page of docs/ that has this text. */
const blockWith = (page: string, text: string): string => {
  const found = readBlocks(page).find((block) => block.text.includes(text));
  if (!found) throw new Error(`${page} has no block with ${text}`);
  return found.text;
};

describe.runIf(hasPrograms)('the first hour, from an empty folder', () => {
  it('README rings a simulated browser with curl alone', async () => {
    const folder = newCheckout();
    expect(blockWith('../README.md', 'sandbox --')).toBe('./carillon sandbox -- npm start\n');
    const service = launch(folder, './carillon sandbox --port 0 -- ./carillon start');
    const [inbox, address] = await Promise.all([
      printed(service.stderr, /inbox of simulated devices is on (\S+);/),
      printed(service.stdout, /Carillon is up at (\S+)/),
    ]);
    const commands = blockWith('../README.md', 'field()')
      .replaceAll('http://127.0.0.1:8080', address)
      .replaceAll('http://127.0.0.1:8090', inbox);
    const [device = '', message = ''] = (await type(folder, commands)).trim().split('\n');
    expect(JSON.parse(device)).toMatchObject({ platform: 'web', status: 'active' });
    expect(JSON.parse(message)).toMatchObject({ status: 'sent', report: { accepted: 1, sent: 1, failed: 0 } });
    const { entries } = (await (await fetch(`${inbox}/inbox`)).json()) as { entries: object[] };
    expect(entries).toMatchObject([{ delivered: true, notification: { title: 'Hello' } }]);
  });

  it("the console's sign-in page rings simulated devices, without the app Demo", async () => {
    const folder = newCheckout();
    const page = readFileSync(join(root, 'console/src/components/what-runs.tsx'), 'utf8');
    const command = (label: string): string => new RegExp(`label="${label}"\\s+code="([^"]+)"`).exec(page)?.[1] ?? '';
    expect(command('The sandbox')).toBe('./carillon sandbox -- npm start');
    const service = launch(folder, './carillon sandbox --port 0 -- ./carillon start');
    const [inbox, address] = await Promise.all([
      printed(service.stderr, /inbox of simulated devices is on (\S+);/),
      printed(service.stdout, /Carillon is up at (\S+)/),
    ]);
    const made = await type(folder, command('Simulated devices').replace('http://127.0.0.1:8090', inbox));
    const [key = ''] = /sk_live_\w+/.exec(made) ?? [];
    vi.stubGlobal('window', { location: { origin: address } });
    const body = { audience: { all: true }, content: { title: 'Hello', body: 'From Carillon' } };
    const { report } = JSON.parse(await type(folder, curlOf('/v1/messages', key, body)));
    vi.unstubAllGlobals();
    expect(report.sent).toBeGreaterThan(0);
    expect(report).toEqual({ accepted: report.sent, sent: report.sent, failed: 0, skipped: 0 });
    const { entries } = (await (await fetch(`${inbox}/inbox`)).json()) as { entries: { delivered: boolean }[] };
    expect(entries.filter(({ delivered }) => delivered)).toHaveLength(report.sent);
  });

  it('docs/webhooks.md tells a receiver on the same machine', async () => {
    const folder = newCheckout();
    const port = String(await findFreePort());
    const page = (text: string): string => blockWith('webhooks.md', text).replaceAll('9443', port);
    const [prepare = '', start] = page('openssl req').split(/^(?=npm start)/m);
    expect(start).toBe('npm start\n');
    await type(folder, prepare);
    const [, settings = ''] = /^(export .*)$/m.exec(prepare) ?? [];
    const env = Object.fromEntries(
      settings
        .split(' ')
        .slice(1)
        .map((pair) => pair.split('=', 2)),
    );
    await printed(launch(folder, './carillon start', env).stdout, /Carillon is up at (\S+)/);

    const made = await type(folder, page('webhook create Demo'));
    const [, secret = ''] = /(whsec_\S+)/.exec(made) ?? [];
    const [, id = ''] = /(whk_\w+)/.exec(made) ?? [];
    writeFileSync(join(folder, 'data/receiver.mjs'), page('verifyWebhook(Buffer'));
    const command = page('node data/receiver.mjs').trim();
    expect(command).toBe('CARILLON_WEBHOOK_SECRET=whsec_… node data/receiver.mjs');
    const receiver = launch(folder, 'node data/receiver.mjs', { CARILLON_WEBHOOK_SECRET: secret });
    await printed(receiver.stdout, /(Listening)/);
    const told = printed(receiver.stdout, /event: '([^']+)'/);
    const tested = await type(folder, page('./carillon webhook test').replace('whk_…', id), env);
    expect(tested).toMatch(/^status code {2}204$/m);
    expect(await told).toBe('webhook.test');
  });
});
