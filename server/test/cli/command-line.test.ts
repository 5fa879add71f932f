import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../../packages/postgres/test/database.ts';
import { whenDone } from '../../../rig/src/when-done.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { createApp } from '../../src/teams/apps/create-app.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();

async function emptyDatabase(): Promise<string> {
  const { url, sql } = await createTestDatabase();
  await sql`DROP SCHEMA public CASCADE`;
  await sql`CREATE SCHEMA public`;
  return url;
}

describe('the command line', () => {
  it.concurrent.each([
    [
      'nothing',
      [],
      /Say what to do: start, migrate, pause, resume, app, key, channel, device, user, event, property, webhook, identify-secret, explain, export, seed, import, sandbox, doctor, backup, restore, reports, seal, receipt-key, audit/,
    ],
    ['an unknown command', ['cook'], /unknown command 'cook'/],
    ['a misspelt command', ['ap'], /unknown command 'ap' \(Did you mean app\?\)/],
    ['a misspelt verb', ['key', 'lits'], /unknown command 'lits' \(Did you mean list\?\)/],
    ['a misspelt option', ['app', 'list', '--jsn'], /unknown option '--jsn' \(Did you mean --json\?\)/],
    ['a noun alone', ['key'], /Say what to do: create, list, rotate, revoke/],
    ['an unknown verb', ['app', 'remove', 'Shop'], /unknown command 'remove'/],
    ['an unknown role', ['start', '--role', 'cook'], /Allowed choices are all, api, worker/],
    ['no workers at all', ['start', '--workers', '0'], /--workers is a whole number from 1 to 256/],
    ['a port that is none', ['sandbox', '--port', '70000'], /--port is a whole number from 0 to 65535/],
  ])('refuses %s in one line', async (_what, parameters, line) => {
    expect(await cli.run(...parameters)).toMatchObject(refusal(line));
  });

  it('prints help on request, and then ends with 0', async () => {
    const { status, stdout, stderr } = await cli.run('key', 'rotate', '--help');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/Usage: carillon key rotate \[options\] <KEY>/);
    expect(stdout).toMatch(/--overlap <HOURS>/);
  });

  it('prints its version, and help by a word, too', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    for (const option of ['--version', '-V']) {
      expect(await cli.run(option)).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' });
    }
    expect((await cli.run('help')).stdout).toMatch(/Usage: carillon .*\n[\s\S]*doctor/);
    expect((await cli.run('help', 'key')).stdout).toMatch(/Usage: carillon key/);
    expect((await cli.run('key', 'help', 'rotate')).stdout).toMatch(/--overlap <HOURS>/);
  });

  it('names the wrong variable', async () => {
    const refused = await cli.runWith({ PORT: 'eighty' }, 'app', 'list');
    expect(refused).toMatchObject(refusal(/PORT must be a whole number/));
  });

  it('reports that the database is unreachable, without the password', async () => {
    const environment = { DATABASE_URL: 'postgres://carillon:hunter2@127.0.0.1:9/carillon' };
    for (const parameters of [['app', 'list'], ['start']]) {
      const refused = await cli.runWith(environment, ...parameters);
      expect(refused).toMatchObject(
        refusal(/Nothing answers at 127\.0\.0\.1:9 for the database 'carillon' \(ECONNREFUSED\): start/),
      );
      expect(refused.stderr).not.toContain('hunter2');
    }
  });
});

describe('start', () => {
  it('ends with 1 and one line when its port is taken, and leaves no process behind', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    whenDone(() => new Promise((resolve) => holder.close(resolve)));
    const { port } = holder.address() as AddressInfo;
    // The output ends when the last process that holds it has ended.
    const refused = await cli.runWith({ PORT: String(port) }, 'start', '--workers', '1');
    expect(refused).toMatchObject(
      refusal(new RegExp(`PORT ${port} is taken, .*; choose another with PORT=\\d+ npm start`)),
    );
  });

  it('ends with 1 and names the plan missing in PLANS_FILE, whether in use or for new apps', async () => {
    const file = join(cli.directory, 'house-plans.json');
    writeFileSync(file, JSON.stringify({ plans: { house: { sk_per_second: 1, ck_per_second: 1, quota: null } } }));
    const start = (plan: string) =>
      cli.runWith({ PORT: '0', PLANS_FILE: file, DEFAULT_PLAN: plan }, 'start', '--workers', '1');
    expect(await start('free')).toMatchObject(refusal(/The plan 'free' is in use but not in .*house-plans\.json/));
    await createApp(cli, { name: 'Of gold', plan: 'gold' });
    expect(await start('house')).toMatchObject(refusal(/The plan 'gold' is in use but not in .*house-plans\.json/));
    await cli.sql`UPDATE apps SET plan = 'free'`;
  });

  it('ends with 1 and names TRUSTED_PROXIES when it contains an invalid range', async () => {
    const refused = await cli.runWith({ PORT: '0', TRUSTED_PROXIES: 'proxy.internal' }, 'start', '--workers', '1');
    expect(refused).toMatchObject(refusal(/TRUSTED_PROXIES must list.*'proxy\.internal'/));
  });
});

describe('start on an external database', () => {
  it('checks MASTER_KEY before it changes the schema', async () => {
    const url = await emptyDatabase();
    const start = (key: string) => cli.runWith({ PORT: '0', DATABASE_URL: url, MASTER_KEY: key }, 'start');
    expect(await start('')).toMatchObject(refusal(/MASTER_KEY is required with DATABASE_URL/));
    expect(await start('abc')).toMatchObject(refusal(/MASTER_KEY must be 32 bytes in base64/));
    const check = await cli.runWith({ DATABASE_URL: url }, 'migrate', '--check', '--json');
    expect(check.json.missing).toContain('0001_instance.sql');
  });

  it('refuses a key that opens nothing there, and leaves the schema unchanged', async () => {
    const { url, sql } = await createTestDatabase();
    const sealed = createSeal(Buffer.alloc(32, 7)).seal('key', {
      table: 'instance',
      column: 'receipt_keys',
      rowId: '0',
      appId: '',
    });
    await sql`INSERT INTO instance (id, system_identifier, receipt_keys)
      SELECT 1, system_identifier::text, ${[sealed]}::text[] FROM pg_control_system()`;
    // The state that an older version left.
    await sql`ALTER TABLE instance DROP COLUMN receipt_keys_made_at, DROP COLUMN receipt_keys_forgotten`;
    const [last] = await sql<{ name: string }[]>`
      DELETE FROM schema_migrations WHERE number = (SELECT max(number) FROM schema_migrations) RETURNING name`;
    const refused = await cli.runWith({ PORT: '0', DATABASE_URL: url }, 'start');
    expect(refused).toMatchObject(refusal(/sealed with key \w+, which is neither MASTER_KEY nor MASTER_KEY_PREVIOUS/));
    const check = await cli.runWith({ DATABASE_URL: url }, 'migrate', '--check', '--json');
    expect(check.json.missing).toEqual([last?.name]);
  });

  it('reports in one line that an empty database got its schema', async () => {
    const service = cli.start({ DATABASE_URL: await emptyDatabase() });
    await service.document();
    const told = service.log.filter(({ msg }) => /schema/.test(String(msg)));
    expect(told).toEqual([expect.objectContaining({ msg: 'schema made', migrations: expect.any(Number) })]);
  });
});

describe('migrate', () => {
  it('R-93 migrates an empty database; until then other commands refuse and --check ends with 1', async () => {
    const environment = { DATABASE_URL: await emptyDatabase() };
    const refused = await cli.runWith(environment, 'app', 'list');
    expect(refused).toMatchObject(refusal(/The database is empty.*carillon migrate/));

    const check = await cli.runWith(environment, 'migrate', '--check', '--json');
    expect(check.json).toMatchObject({ up_to_date: false, applied: [] });
    expect(check).toMatchObject({ status: 1, stderr: expect.stringMatching(/^carillon: [^\n]+carillon migrate\n$/) });

    const migrated = await cli.runWith(environment, 'migrate', '--json');
    expect(migrated.json).toEqual({ up_to_date: true, applied: check.json.missing, missing: [] });
    const again = await cli.runWith(environment, 'migrate', '--check', '--json');
    expect(again).toMatchObject({ status: 0, stderr: '', json: { up_to_date: true, missing: [] } });
    expect((await cli.runWith(environment, 'app', 'list', '--json')).json).toMatchObject({ data: [] });
  });

  it('names the migrations that a database lacks', async () => {
    const { url, sql } = await createTestDatabase();
    const [last] = await sql<{ name: string }[]>`
      DELETE FROM schema_migrations WHERE number = (SELECT max(number) FROM schema_migrations) RETURNING name`;
    const refused = await cli.runWith({ DATABASE_URL: url }, 'app', 'create', 'Shop');
    expect(refused).toMatchObject(refusal(new RegExp(`lacks ${last?.name}.*carillon migrate`)));
  });
});

describe('the embedded database', () => {
  it('is created and migrated by a command, and stopped when the command ends', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'carillon-cli-data-'));
    // When run as root, the database uses another user, who must be able to enter it.
    chmodSync(dataDir, 0o755);
    const place = (): string => {
      const recorded = readFileSync(join(dataDir, 'database'), 'utf8').trim();
      return isAbsolute(recorded) ? recorded : join(dataDir, recorded);
    };
    whenDone(async () => {
      rmSync(place(), { recursive: true, force: true });
      rmSync(dataDir, { recursive: true, force: true });
    });
    const environment = { DATABASE_URL: '', MASTER_KEY: '', DATA_DIR: dataDir };
    // A first start that is refused for its plans makes nothing, so the command after it makes the
    // database.
    const plans = join(cli.directory, 'no-plans.json');
    writeFileSync(plans, '{"plans": {}}');
    const refused = await cli.runWith({ ...environment, PORT: '0', PLANS_FILE: plans }, 'start');
    expect(refused).toMatchObject(refusal(/The plan 'free' is in use/));

    const created = await cli.runWith(environment, 'app', 'create', 'Mine', '--json');
    expect(created).toMatchObject({ status: 0, stderr: expect.stringMatching(/^Made a database in [^\n]+\n$/) });
    expect(existsSync(join(place(), 'postmaster.pid'))).toBe(false);

    // Two commands at once share one server.
    const [listed, set] = await Promise.all([
      cli.runWith(environment, 'app', 'list', '--json'),
      cli.runWith(environment, 'channel', 'set', 'Mine', 'webpush', '--json'),
    ]);
    expect([listed, set]).toMatchObject(Array(2).fill({ status: 0, stderr: '' }));
    expect(listed.json.data).toMatchObject([{ id: created.json.id, name: 'Mine' }]);
    expect(set.json).toMatchObject({ channel: 'webpush' });
    expect(existsSync(join(place(), 'postmaster.pid'))).toBe(false);
    expect(statSync(join(dataDir, 'master.key')).mode & 0o777).toBe(0o600);
  });
});
