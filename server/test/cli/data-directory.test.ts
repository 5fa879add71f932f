// Which commands may create a database, and where all commands look for the service's.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { loadConfig } from '../../src/config.ts';
import { describeNoDatabase, loadCommandConfig, noteServicePlace } from '../../src/operation/process/service-place.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-place-'));
  // When run as root, the database uses another user, who must be able to enter it.
  chmodSync(folder, 0o755);
  whenDone(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const embedded = { DATABASE_URL: '', MASTER_KEY: '' };

describe('without a database', () => {
  it.each([
    ['app', 'list'],
    ['app', 'plan', 'Shop', 'pro'],
    ['key', 'create', 'Shop', '--scope', 'server'],
    ['channel', 'set', 'Shop', 'webpush'],
    ['webhook', 'list', 'Shop'],
    ['export', 'Shop', 'devices'],
    ['migrate', '--check'],
    ['doctor'],
    ['pause'],
    ['owner', 'setup-link'],
    ['token', 'create', '--role', 'admin'],
    ['audit'],
    ['backup', 'somewhere.tgz'],
  ])('`%s %s` creates none, and says where it looked and how to name another place', async (...parameters) => {
    const folder = newFolder();
    const dataDir = join(folder, 'data');
    const refused = await cli.runWith({ ...embedded, DATA_DIR: dataDir }, ...parameters);
    expect(refused).toMatchObject(
      refusal(new RegExp(`There is no database in ${dataDir}\\. .*DATA_DIR=… or DATABASE_URL=…`)),
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  it('`app create` creates one and prints where; from then on the other commands find it', async () => {
    const dataDir = join(newFolder(), 'data');
    const environment = { ...embedded, DATA_DIR: dataDir };
    const made = await cli.runWith(environment, 'app', 'create', 'Shop', '--json');
    // As root, the database's user passes through it.
    expect(statSync(dataDir).mode & 0o777).toBe(process.getuid?.() === 0 ? 0o711 : 0o700);
    const recorded = readFileSync(join(dataDir, 'database'), 'utf8').trim();
    const place = isAbsolute(recorded) ? recorded : join(dataDir, recorded);
    whenDone(async () => rmSync(place, { recursive: true, force: true }));
    expect(made).toMatchObject({ status: 0, stderr: `Made a database in ${place}\n` });
    expect((await cli.runWith(environment, 'app', 'list', '--json')).json.data).toMatchObject([{ name: 'Shop' }]);
  });
});

describe("the place that a checkout's service has recorded", () => {
  /** A checkout whose service was started in `startedIn` with these variables. */
  const checkoutWith = (environment: Record<string, string>): string => {
    const checkout = newFolder();
    mkdirSync(join(checkout, 'docs'));
    noteServicePlace(loadConfig(environment, checkout), checkout, checkout);
    return checkout;
  };

  it('is found from any folder of the checkout, and from no other', () => {
    const checkout = checkoutWith({ DATA_DIR: '/srv/bells' });
    for (const folder of [checkout, join(checkout, 'docs')]) {
      expect(loadCommandConfig({}, folder, checkout).dataDir).toBe('/srv/bells');
    }
    const elsewhere = newFolder();
    const config = loadCommandConfig({}, elsewhere, checkout);
    expect(config.dataDir).toBe(join(elsewhere, 'data'));
    expect(describeNoDatabase(config, checkout)).toContain(`The service of ${checkout} has DATA_DIR=/srv/bells.`);
  });

  it("is overridden by the command's environment, and by a database in the current folder", () => {
    const checkout = checkoutWith({});
    const docs = join(checkout, 'docs');
    expect(loadCommandConfig({}, docs, checkout).dataDir).toBe(join(checkout, 'data'));
    expect(loadCommandConfig({ DATA_DIR: './mine' }, docs, checkout).dataDir).toBe(join(docs, 'mine'));
    const databaseUrl = 'postgres://db.example/carillon';
    expect(loadCommandConfig({ DATABASE_URL: databaseUrl }, docs, checkout).databaseUrl).toBe(databaseUrl);
    mkdirSync(join(docs, 'data'));
    writeFileSync(join(docs, 'data/database'), 'postgres\n');
    expect(loadCommandConfig({}, docs, checkout).dataDir).toBe(join(docs, 'data'));
  });

  it("has the service's address, which links of commands contain, unless a command names another", () => {
    const checkout = checkoutWith({ PORT: '8081' });
    const docs = join(checkout, 'docs');
    const addressIn = (environment: Record<string, string>, folder: string) =>
      loadCommandConfig(environment, folder, checkout).publicUrl;
    mkdirSync(join(checkout, 'data/postgres'), { recursive: true });
    expect([addressIn({}, checkout), addressIn({}, docs)]).toEqual(['http://127.0.0.1:8081', 'http://127.0.0.1:8081']);
    expect(addressIn({ PUBLIC_URL: 'https://push.shop.example' }, docs)).toBe('https://push.shop.example');
    // A port of its own is another address, whatever the service was started with.
    expect(addressIn({ PORT: '9000' }, docs)).toBe('http://127.0.0.1:9000');
    expect(addressIn({ PORT: '9000' }, checkout)).toBe('http://127.0.0.1:9000');
    // Another database belongs to another service.
    expect(addressIn({ DATABASE_URL: 'postgres://db.example/other' }, docs)).toBe('http://127.0.0.1:8080');
    expect(addressIn({ DATA_DIR: './mine' }, docs)).toBe('http://127.0.0.1:8080');
    expect(addressIn({}, newFolder())).toBe('http://127.0.0.1:8080');
    noteServicePlace(loadConfig({ HOST: '0.0.0.0' }, checkout), checkout, checkout);
    expect(addressIn({}, docs)).toBeNull();
  });

  it("makes commands read the .env of the service's folder, with its relative paths, and contains no secret itself", () => {
    const checkout = newFolder();
    mkdirSync(join(checkout, 'docs'));
    const secret = 'postgres://carillon:hunter2@db.example/carillon';
    writeFileSync(join(checkout, '.env'), `DATABASE_URL=${secret}\nPLANS_FILE=plans.json\n`);
    noteServicePlace(loadConfig({}, checkout), checkout, checkout);
    expect(readFileSync(join(checkout, '.carillon-service.json'), 'utf8')).not.toContain('hunter2');
    expect(loadCommandConfig({}, join(checkout, 'docs'), checkout)).toMatchObject({
      databaseUrl: secret,
      plansFile: join(checkout, 'plans.json'),
    });
  });

  it('is not recorded by a service that runs elsewhere, such as a test or a demo', () => {
    const checkout = newFolder();
    noteServicePlace(loadConfig({}, tmpdir()), tmpdir(), checkout);
    expect(readdirSync(checkout)).toEqual([]);
  });
});
