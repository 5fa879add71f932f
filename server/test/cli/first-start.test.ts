// The first start of a service with its own database: what it refuses before it creates anything,
// and what it prints.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { EmbeddedDatabase } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { loadConfig } from '../../src/config.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { firstStart } from '../../src/operation/process/first-start.ts';
import { loadPlans } from '../../src/teams/quotas/plan.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();

/** A data directory that does not exist yet, and the environment that names it. */
function newDataDir(): { dataDir: string; environment: Record<string, string> } {
  const parent = mkdtempSync(join(tmpdir(), 'carillon-first-'));
  // When run as root, the database uses another user, who must be able to enter it.
  chmodSync(parent, 0o755);
  const dataDir = join(parent, 'data');
  whenDone(async () => {
    const recorded = existsSync(join(dataDir, 'database'))
      ? readFileSync(join(dataDir, 'database'), 'utf8').trim()
      : '';
    if (isAbsolute(recorded)) rmSync(recorded, { recursive: true, force: true });
    rmSync(parent, { recursive: true, force: true });
  });
  return { dataDir, environment: { DATABASE_URL: '', MASTER_KEY: '', DATA_DIR: dataDir } };
}

async function holdPort(): Promise<number> {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  whenDone(() => new Promise((resolve) => holder.close(resolve)));
  return (holder.address() as AddressInfo).port;
}

const isHere = (path: string): boolean => existsSync(path);

describe('a first start', () => {
  it('with a taken port creates nothing, and names a free port', async () => {
    const { dataDir, environment } = newDataDir();
    const port = await holdPort();
    const refused = await cli.runWith({ ...environment, PORT: String(port) }, 'start', '--workers', '1');
    expect(refused).toMatchObject(
      refusal(new RegExp(`PORT ${port} is taken, .*; choose another with PORT=\\d+ npm start$`)),
    );
    expect(isHere(dataDir)).toBe(false);
  });

  it("with a taken metrics port, or a host that is not this machine's, creates nothing either", async () => {
    const { dataDir, environment } = newDataDir();
    const taken = { ...environment, PORT: '0', METRICS_PORT: String(await holdPort()) };
    expect(await cli.runWith(taken, 'start')).toMatchObject(refusal(/METRICS_PORT: nothing can listen/));
    const elsewhere = { ...environment, PORT: '0', HOST: '192.0.2.1' };
    expect(await cli.runWith(elsewhere, 'start')).toMatchObject(
      refusal(/HOST 192\.0\.2\.1 is no address of this machine/),
    );
    expect(isHere(dataDir)).toBe(false);
  });

  it.each([
    ['a master key that is none', { MASTER_KEY: 'abc' }, /MASTER_KEY must be 32 bytes in base64 .*openssl rand/],
    [
      'a plan for new apps that nobody described',
      { DEFAULT_PLAN: 'gold' },
      /The plan 'gold' is in use but is not built in: describe it in PLANS_FILE, or choose one of free, growth, pro, unlimited \(of new apps: DEFAULT_PLAN\)$/,
    ],
  ])('with %s makes nothing, and says what to do', async (_what, wrong, line) => {
    const { dataDir, environment } = newDataDir();
    expect(await cli.runWith({ ...environment, PORT: '0', ...wrong }, 'start')).toMatchObject(refusal(line));
    expect(isHere(dataDir)).toBe(false);
  });

  it('with an unusable data directory names it, and what to do', async () => {
    const file = join(cli.directory, 'taken');
    writeFileSync(file, '');
    const environment = { DATABASE_URL: '', MASTER_KEY: '', PORT: '0', DATA_DIR: join(file, 'data') };
    const line =
      /DATA_DIR \S+\/taken\/data is a file, or a part of its path is one \(ENOTDIR\): choose a folder .*DATA_DIR=…$/;
    for (const parameters of [['start'], ['app', 'create', 'Shop'], ['app', 'list']]) {
      expect(await cli.runWith(environment, ...parameters)).toMatchObject(refusal(line));
    }
  });

  it('that ends before it listens has shown no keys: the next start shows them, and later ones do not', async () => {
    const { dataDir, environment } = newDataDir();
    const file = join(dataDir, 'first-run.txt');
    // The app exists by then; the process that would listen refuses its settings.
    const failed = await cli.runWith({ ...environment, PORT: '0', TRUSTED_PROXIES: 'nowhere' }, 'start');
    expect(failed).toMatchObject(refusal(/TRUSTED_PROXIES/));
    expect(isHere(file)).toBe(false);

    const shown = cli.start(environment);
    const { address, first_app: app, console: consoleAddress, setup_link: setupLink } = await shown.document();
    expect(app).toMatchObject({ name: 'Demo', demo: `${address}/demo#${app.client_key}` });
    expect(consoleAddress).toBe(`${address}/console/`);
    expect((await fetch(consoleAddress)).status).toBe(200);
    // The port is the system's choice, so PUBLIC_URL is not known and the link is a path.
    expect(setupLink).toMatch(/^\/console\/setup#\S+$/);
    const answered = await fetch(`${address}/v1/config`, { headers: { authorization: `Bearer ${app.server_key}` } });
    expect(answered.status).toBe(200);
    // The notice names the file, so the file is there first.
    expect(isHere(file)).toBe(true);
    await expect.poll(() => isHere(join(dataDir, 'first-run.untold.json'))).toBe(false);
    const kept = readFileSync(file, 'utf8');
    for (const text of [app.server_key, app.client_key, app.demo, setupLink]) expect(kept).toContain(text);
    expect(kept).toMatch(/^WARNING: no identify secret is set: .+ identify-secret rotate Demo$/m);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    shown.signal('SIGINT');
    await shown.ended;

    const again = cli.start(environment);
    expect((await again.document()).first_app).toBeNull();
    again.signal('SIGINT');
    await again.ended;
  });
});

describe('the output of a start', () => {
  const noticeOf = async (variables: Record<string, string>, embedded?: EmbeddedDatabase): Promise<string> => {
    const config = loadConfig({ ...cli.environment, PORT: '8080', ...variables }, cli.directory);
    const plans = loadPlans(null, []);
    const deps = {
      sql: cli.sql,
      seal: createSeal(Buffer.alloc(32, 1)),
      config,
      plans,
      embedded,
      paused: null,
    };
    return (await firstStart(deps)).text('http://127.0.0.1:8080');
  };

  it('names the plan of a new app once, with its limits and how to lift them', async () => {
    const lines = (await noticeOf({})).split('\n').filter((line) => /plan/i.test(line));
    expect(lines).toEqual([
      "  Plan        new apps are on 'free': 10 requests/s, 10,000 deliveries a month; lift it: ./carillon app plan APP unlimited",
    ]);
  });

  it('warns in one line, beside the keys of the app Demo, that any visitor may claim to be any user', async () => {
    const { dataDir } = newDataDir();
    mkdirSync(dataDir);
    const text = await noticeOf({ DATA_DIR: dataDir }, { clusterDir: join(dataDir, 'pg') } as EmbeddedDatabase);
    expect(text).toContain('Client key  ck_live_');
    expect(text).toMatch(/^ {2}Set up {6}http:\/\/127\.0\.0\.1:8080\/console\/setup#\S+$/m);
    expect(text.split('\n').filter((line) => line.includes('WARNING'))).toEqual([
      '  WARNING: no identify secret is set: any visitor who guesses an external_id can link a browser to it and receive ' +
        "that user's pushes. Set one: ./carillon identify-secret rotate Demo",
    ]);
  });

  it('does not mention an unlimited plan', async () => {
    const text = await noticeOf({ DEFAULT_PLAN: 'unlimited' });
    expect(text).toContain('Carillon is up at http://127.0.0.1:8080');
    expect(text).not.toMatch(/plan/i);
  });

  it('says at every start where the console is, by the address that people use', async () => {
    const consoleLines = (text: string) => text.split('\n').filter((line) => /console/i.test(line));
    expect(consoleLines(await noticeOf({}))).toEqual(['  Console     http://127.0.0.1:8080/console/']);
    expect(consoleLines(await noticeOf({ PUBLIC_URL: 'https://push.shop.example' }))).toEqual([
      '  Console     https://push.shop.example/console/',
    ]);
  });
});
