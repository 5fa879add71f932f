// The embedded database from outside: every service and command is a real process, which is really
// stopped and killed.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findEmbeddedPostgres } from '../../src/embedded/start-postgres.ts';
import {
  copyCheckout,
  killServer,
  query,
  type Ready,
  type Start,
  serverPid,
  serverPids,
  socketDirectory,
  startProcess,
} from './processes.ts';

const isRoot = process.getuid?.() === 0;
const nobody = { uid: 65_534, gid: 65_534 };

/** Everything that a test makes is below this folder, the sockets too. */
let folder: string;
let processes: ChildProcess[];
/** A data directory that was started and stopped once. */
let prepared: string;

beforeAll(async () => {
  await makeFolder();
  const service = run();
  await service.ready();
  await service.stop();
  prepared = folder;
});

afterAll(async () => {
  await fs.rm(prepared, { recursive: true, force: true });
});

beforeEach(makeFolder);

async function makeFolder(): Promise<void> {
  folder = await fs.realpath(await fs.mkdtemp(join(tmpdir(), 'cte-')));
  await fs.chmod(folder, 0o755);
  await fs.mkdir(join(folder, 'tmp'));
  await fs.chmod(join(folder, 'tmp'), 0o1777);
  processes = [];
}

/** A copy of the prepared data directory, for tests of later starts. */
async function prepare(dataDir = join(folder, 'data')): Promise<string> {
  await fs.mkdir(dirname(dataDir), { recursive: true });
  execFileSync('cp', ['-a', join(prepared, 'data'), dataDir]);
  return dataDir;
}

afterEach(async () => {
  for (const child of processes) child.kill('SIGKILL');
  for (const pid of serverPids(folder)) process.kill(pid, 'SIGKILL');
  await fs.rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
});

function run(given: Start = {}) {
  const started = startProcess(folder, given);
  processes.push(started.child);
  return started;
}

describe('a first start', () => {
  it('creates a private cluster with the database, and leaves nothing running when it stops', async () => {
    const service = run();
    const { url, clusterDir, isNew } = await service.ready();
    expect({ clusterDir, isNew }).toEqual({ clusterDir: join(folder, 'data/postgres'), isNew: true });
    expect(await fs.readFile(join(folder, 'data/database'), 'utf8')).toBe('postgres\n');
    for (const path of [clusterDir, socketDirectory(url)]) {
      const { mode, uid } = await fs.stat(path);
      expect(mode & 0o777).toBe(0o700);
      expect(uid).not.toBe(0);
    }
    const [settings] = await query(
      url,
      `SELECT current_user, rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication AS may_more, current_database(), current_setting('fsync') AS fsync,
         current_setting('full_page_writes') AS full_page_writes, current_setting('listen_addresses') AS listen_addresses,
         current_setting('server_encoding') AS encoding, datlocprovider, datlocale
       FROM pg_database, pg_roles WHERE datname = current_database() AND rolname = current_user`,
    );
    expect(settings).toEqual({
      currentUser: 'carillon_service',
      mayMore: false,
      currentDatabase: 'carillon',
      fsync: 'on',
      fullPageWrites: 'on',
      listenAddresses: '',
      encoding: 'UTF8',
      datlocprovider: 'b',
      datlocale: 'C.UTF-8',
    });
    if (process.platform === 'linux') {
      // Our environment holds secrets, which the server's user must not see.
      const environment = await fs.readFile(`/proc/${await serverPid(clusterDir)}/environ`, 'utf8');
      expect(
        environment
          .split('\0')
          .map((entry) => entry.split('=')[0])
          .toSorted(),
      ).toEqual(['', 'LC_ALL', 'PATH', 'TZ']);
    }
    await service.stop();
    expect(serverPids(folder)).toEqual([]);
    expect((await fs.readdir(join(folder, 'tmp'))).filter((name) => name.startsWith('carillon-'))).toEqual([]);
  });

  it('that is killed while the cluster is created does not hinder the next start', async () => {
    await fs.mkdir(join(folder, 'data'));
    const watcher = fs.watch(join(folder, 'data'));
    const killed = run();
    for await (const { filename } of watcher) if (filename?.startsWith('postgres.new-')) break;
    await killed.kill();
    const service = run();
    expect((await service.ready()).isNew).toBe(true);
    expect(await fs.readdir(join(folder, 'data'))).toEqual(['database', 'postgres', 'postgres.log']);
    await service.stop();
  });

  it('by two services at once ends with one that runs and one that refuses', async () => {
    const outcomes = await Promise.all([run(), run()].map((service) => service.outcome()));
    expect(outcomes.flatMap(Object.keys).toSorted()).toEqual(['ready', 'refused']);
    expect((await fs.readdir(join(folder, 'data'))).toSorted()).toEqual(['database', 'postgres', 'postgres.log']);
  });

  it('by two commands at once ends with one database for both', async () => {
    const commands = [run({ purpose: 'command' }), run({ purpose: 'command' })];
    const [one, two] = await Promise.all(commands.map((command) => command.ready()));
    expect(one?.url).toBe(two?.url);
    await Promise.all(commands.map((command) => command.stop()));
    expect(serverPids(folder)).toEqual([]);
  });
});

describe('R-98 the server', () => {
  const most = async ({ url }: Ready): Promise<number> =>
    Number((await query(url, 'SHOW max_connections'))[0]?.['maxConnections']);

  it('allows as many connections as its service may need, also when a killed service left it with fewer', async () => {
    await prepare();
    const small = run({ connections: 120 });
    expect(await most(await small.ready())).toBe(120);
    await small.kill();
    const large = run({ connections: 300 });
    expect(await most(await large.ready())).toBe(300);
    await large.stop();
  });

  it('keeps a higher value that an operator wrote into its configuration', async () => {
    await prepare();
    await fs.appendFile(join(folder, 'data/postgres/postgresql.conf'), 'max_connections = 200\n');
    const service = run({ connections: 120 });
    expect(await most(await service.ready())).toBe(200);
    await service.stop();
  });

  it('is not restarted while a command uses it: the service reports the missing connections and goes on', async () => {
    await prepare();
    const command = run({ purpose: 'command' });
    expect(await most(await command.ready())).toBe(100);
    const service = run({ connections: 300 });
    expect(await most(await service.ready())).toBe(100);
    await service.said(/runs with 100 connections, and 300 are needed; a command uses it/);
    await command.stop();
    await service.stop();
    const next = run({ connections: 300 });
    expect(await most(await next.ready())).toBe(300);
  });
});

describe('R-94 the next start', () => {
  it('keeps the data, also when the directory was moved', async () => {
    await prepare();
    const first = run();
    await query((await first.ready()).url, 'CREATE TABLE kept AS SELECT 7 AS value');
    await first.stop();
    await fs.rename(join(folder, 'data'), join(folder, 'moved'));
    const { url, isNew } = await run({ dataDir: join(folder, 'moved') }).ready();
    expect(isNew).toBe(false);
    expect(await query(url, 'SELECT * FROM kept')).toEqual([{ value: 7 }]);
  });

  it('takes over the server of a killed service, with everything it acknowledged, even if the whole group was killed', async () => {
    await prepare();
    const killed = run();
    const before = await killed.ready();
    await query(before.url, 'CREATE TABLE kept AS SELECT 7 AS value');
    const pid = await serverPid(before.clusterDir);
    await killed.kill();
    const service = run();
    const after = await service.ready();
    expect(after.url).toBe(before.url);
    expect(await serverPid(after.clusterDir)).toBe(pid);
    expect(await query(after.url, 'SELECT * FROM kept')).toEqual([{ value: 7 }]);
    await service.stop();
    expect(serverPids(folder)).toEqual([]);
  });

  it('recovers acknowledged writes when service and server were killed', async () => {
    await prepare();
    const killed = run();
    const { url, clusterDir } = await killed.ready();
    await query(url, 'CREATE TABLE kept AS SELECT 7 AS value');
    await killed.kill();
    await killServer(clusterDir);
    expect(await query((await run().ready()).url, 'SELECT * FROM kept')).toEqual([{ value: 7 }]);
  });

  it("does not wait for a foreign process that has the dead server's pid", async () => {
    await prepare();
    const killed = run();
    const { url, clusterDir } = await killed.ready();
    await killed.kill();
    await killServer(clusterDir);
    const { uid, gid } = await fs.stat(clusterDir);
    const stranger = spawn('sleep', ['600'], { uid, gid });
    processes.push(stranger);
    const locks = [clusterDir, socketDirectory(url)].map((path) => join(path, '.s.PGSQL.5432.lock'));
    for (const path of [join(clusterDir, 'postmaster.pid'), ...locks]) {
      const text = await fs.readFile(path, 'utf8');
      await fs.writeFile(path, text.replace(/^\d+/, String(stranger.pid)));
    }
    expect((await run().ready()).isNew).toBe(false);
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
  });

  it('makes a new cluster when the directory was deleted, and ignores the former server', async () => {
    await prepare();
    const killed = run();
    const before = await killed.ready();
    const pid = await serverPid(before.clusterDir);
    await killed.kill();
    // The killed service's server may write a file meanwhile.
    await fs.rm(join(folder, 'data'), { recursive: true, maxRetries: 20 });
    const after = await run().ready();
    expect(after.isNew).toBe(true);
    expect(await serverPid(after.clusterDir)).not.toBe(pid);
    expect(await query(after.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('refuses the cluster of another major version with a message, and changes nothing', async () => {
    await fs.mkdir(join(folder, 'data/postgres'), { recursive: true });
    await fs.writeFile(join(folder, 'data/postgres/PG_VERSION'), '17\n');
    if (isRoot) await fs.chown(join(folder, 'data/postgres'), nobody.uid, nobody.gid);
    expect(await run().refusal()).toBe(
      `The database in ${folder}/data/postgres is of PostgreSQL 17, and this Carillon brings PostgreSQL 18: start it with the release that made it.`,
    );
    expect(await fs.readdir(join(folder, 'data'), { recursive: true })).toEqual(['postgres', 'postgres/PG_VERSION']);
  });

  it('refuses to make a new cluster when the recorded one is missing', async () => {
    await fs.mkdir(join(folder, 'data'));
    await fs.writeFile(join(folder, 'data/database'), '/nowhere/at/all\n');
    expect(await run().refusal()).toMatch(/names \/nowhere\/at\/all, where there is no database/);
    expect(await fs.readdir(join(folder, 'data'))).toEqual(['database']);
  });
});

describe('R-94 several processes that use one directory:', () => {
  it('the second service refuses with a message, and the first is not affected', async () => {
    await prepare();
    const first = run();
    const { url } = await first.ready();
    expect(await run().refusal()).toBe(
      `Another service (carillon, process ${first.child.pid}) uses ${folder}/data: stop it, or give this one a DATA_DIR of its own.`,
    );
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it("a command uses the service's server, and the last to leave stops the server", async () => {
    await prepare();
    const service = run();
    const { url, adminUrl } = await service.ready();
    const command = run({ purpose: 'command' });
    expect((await command.ready()).url).toBe(url);
    await service.stop();
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(await findEmbeddedPostgres(join(folder, 'data'))).toEqual({ url, adminUrl });
    await command.stop();
    expect(serverPids(folder)).toEqual([]);
    expect(await findEmbeddedPostgres(join(folder, 'data'))).toBeUndefined();
  });

  it('a database of an earlier version, which belongs to the superuser, is given to the role of the service', async () => {
    await prepare();
    const former = run({ purpose: 'command' });
    const { url, adminUrl, clusterDir } = await former.ready();
    // As an earlier version left it, with its server running.
    for (const statement of [
      'ALTER DATABASE carillon OWNER TO carillon',
      'CREATE TABLE shelves (id int GENERATED ALWAYS AS IDENTITY, number serial) PARTITION BY RANGE (id)',
      'CREATE TABLE shelf PARTITION OF shelves FOR VALUES FROM (0) TO (10)',
      'CREATE SEQUENCE tickets',
      'CREATE VIEW "All shelves" AS SELECT * FROM shelves',
      "CREATE TYPE wood AS ENUM ('oak')",
      'CREATE FUNCTION one() RETURNS int LANGUAGE sql AS $$SELECT 1$$',
    ])
      await query(adminUrl, statement);
    const rules = join(clusterDir, 'carillon_hba.conf');
    await fs.writeFile(rules, (await fs.readFile(rules, 'utf8')).replace(',carillon_service', ''));
    await query(adminUrl, 'SELECT pg_reload_conf()');
    await expect.poll(() => query(url, 'SELECT 1').catch((error) => error.code)).toBe('28000');
    const service = run();
    await service.ready();
    await former.stop();
    const owned = `SELECT DISTINCT pg_get_userbyid(owner) AS role FROM (
      SELECT relowner FROM pg_class WHERE relnamespace = 'public'::regnamespace UNION ALL
      SELECT proowner FROM pg_proc WHERE pronamespace = 'public'::regnamespace UNION ALL
      SELECT typowner FROM pg_type WHERE typnamespace = 'public'::regnamespace UNION ALL
      SELECT datdba FROM pg_database WHERE datname = current_database()) AS all_owned (owner)`;
    expect(await query(url, owned)).toEqual([{ role: 'carillon_service' }]);
    for (const statement of [
      'DROP VIEW "All shelves"',
      'DROP TABLE shelves',
      'DROP SEQUENCE tickets',
      'CREATE TABLE more ()',
    ])
      await query(url, statement);
    await service.stop();
  });

  it('a command that starts first keeps its server when a service starts', async () => {
    await prepare();
    const command = run({ purpose: 'command' });
    const { url } = await command.ready();
    const service = run();
    expect((await service.ready()).url).toBe(url);
    await command.stop();
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await service.stop();
    expect(serverPids(folder)).toEqual([]);
  });

  it('a start waits while another one has made its lock file and not written it yet', async () => {
    await prepare();
    const first = run();
    const { clusterDir } = await first.ready();
    await first.stop();
    await fs.writeFile(join(clusterDir, 'postmaster.pid'), '');
    const second = run();
    await expect.poll(() => fs.readFile(join(folder, 'data/postgres.log'), 'utf8')).toMatch(/is empty/);
    await fs.rm(join(clusterDir, 'postmaster.pid'));
    expect((await second.ready()).isNew).toBe(false);
  });

  it('a start goes on beside an empty lock file that a crash left long ago', async () => {
    await prepare();
    const first = run();
    const { clusterDir } = await first.ready();
    await first.stop();
    const path = join(clusterDir, 'postmaster.pid');
    await fs.writeFile(path, '');
    await fs.utimes(path, 1, 1);
    expect((await run().ready()).isNew).toBe(false);
  });

  it('a service whose server was killed starts it again at the same address, and still excludes others', async () => {
    await prepare();
    const service = run();
    const { url, clusterDir } = await service.ready();
    process.kill(await serverPid(clusterDir), 'SIGKILL');
    await service.said(/PostgreSQL started/, 2);
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(await run().refusal()).toMatch(/^Another service/);
    await service.stop();
    expect(serverPids(folder)).toEqual([]);
  });

  it('nothing is found where nothing was ever started', async () => {
    expect(await findEmbeddedPostgres(join(folder, 'data'))).toBeUndefined();
  });
});

describe('R-94 wherever the directory is', () => {
  it.each([
    ['of few bytes', 'data'],
    ['of more than 107 bytes', `${'long'.repeat(40)}/data`],
  ])('it starts with a path %s, and is found from where its temporary folder is not visible', async (_, path) => {
    const dataDir = await prepare(join(folder, path));
    const tmp = join(folder, 'private-tmp');
    await fs.mkdir(tmp);
    const service = run({ dataDir, tmp });
    const { clusterDir } = await service.ready();
    const pid = await serverPid(clusterDir);
    await fs.rename(tmp, join(folder, 'hidden'));
    const command = run({ dataDir, purpose: 'command' });
    expect(await query((await command.ready()).url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(await run({ dataDir }).refusal()).toMatch(/^Another service/);
    expect(await serverPid(clusterDir)).toBe(pid);
  });

  it.runIf(isRoot).each([
    ['that a stranger made', 0, 0o700],
    ['that a stranger can enter', undefined, 0o777],
  ])('a directory in the temporary folder %s is not used', async (_, stranger, mode) => {
    await prepare();
    const first = run();
    const { url, clusterDir } = await first.ready();
    await first.stop();
    const taken = socketDirectory(url);
    await fs.mkdir(taken);
    await fs.chown(taken, stranger ?? (await fs.stat(clusterDir)).uid, 0);
    await fs.chmod(taken, mode);
    expect(socketDirectory((await run().ready()).url)).not.toBe(taken);
    expect(await fs.readdir(taken)).toEqual([]);
  });

  it.runIf(isRoot)('a process of another user is refused, even when it reaches the socket', async () => {
    await prepare();
    const { url } = await run().ready();
    const socket = join(socketDirectory(url), `.s.PGSQL.${new URL(url).port}`);
    // Opens everything that keeps other users from the socket.
    for (let path = dirname(socket); path.startsWith(folder); path = dirname(path)) await fs.chmod(path, 0o755);
    await fs.chmod(socket, 0o777);
    const hello = `
      const text = 'user\\0carillon\\0database\\0carillon\\0\\0';
      const bytes = Buffer.alloc(8 + text.length);
      bytes.writeInt32BE(bytes.length); bytes.writeInt32BE(196608, 4); bytes.write(text, 8);
      require('node:net').connect(process.argv[1]).on('connect', function () { this.write(bytes); })
        .once('data', (answer) => { console.log(String(answer)); process.exit(); });`;
    const asStranger = { ...nobody, cwd: '/', encoding: 'utf8' } as const;
    expect(execFileSync(process.execPath, ['-e', hello, socket], asStranger)).toMatch(/Peer authentication failed/);
  });

  it.runIf(isRoot)("files that root restored are given to the server's user", async () => {
    await prepare();
    const first = run();
    const { url, clusterDir } = await first.ready();
    await query(url, 'CREATE TABLE kept AS SELECT 7 AS value');
    await first.stop();
    execFileSync('chown', ['-R', '0:0', clusterDir]);
    expect(await query((await run().ready()).url, 'SELECT * FROM kept')).toEqual([{ value: 7 }]);
  });

  it.runIf(isRoot)('an ordinary user keeps all in the directory, even with a foreign checkout', async () => {
    const checkout = await copyCheckout(join(folder, 'checkout'));
    await fs.mkdir(join(folder, 'data'));
    await fs.chown(join(folder, 'data'), nobody.uid, nobody.gid);
    const service = run({ as: nobody, checkout });
    const { url, clusterDir } = await service.ready();
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(relative(folder, clusterDir)).toBe('data/postgres');
    expect((await fs.stat(clusterDir)).uid).toBe(nobody.uid);
    await service.stop();
    // A later start by root runs it as the same user.
    const asRoot = run({ checkout });
    expect((await asRoot.ready()).isNew).toBe(false);
    expect((await fs.stat(socketDirectory((await asRoot.ready()).url))).uid).toBe(nobody.uid);
  });

  it.runIf(isRoot)('another user is told who owns the database', async () => {
    await prepare();
    const service = run();
    const { uid } = await fs.stat((await service.ready()).clusterDir);
    await service.stop();
    const checkout = await copyCheckout(join(folder, 'checkout'));
    expect(await run({ as: { uid: 1, gid: 1 }, checkout }).refusal()).toBe(
      `The database in ${folder}/data/postgres belongs to user ${uid}: run Carillon as that user or as root, or choose another folder with DATA_DIR=…`,
    );
  });

  it.runIf(isRoot)(
    'root in a private home gets a cluster outside of it, one for each directory, and its mode is kept',
    async () => {
      const system = '/var/lib/carillon';
      const existing = await fs.readdir(system).catch(() => undefined);
      const home = join(folder, 'home');
      await fs.mkdir(home);
      await fs.chmod(home, 0o700);
      const checkout = await copyCheckout(join(home, 'checkout'));
      const clusters: string[] = [];
      try {
        for (const name of ['one', 'two']) {
          const dataDir = join(home, name);
          const service = run({ checkout, dataDir });
          const { url, clusterDir } = await service.ready();
          clusters.push(clusterDir);
          expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
          expect(clusterDir).toMatch(/^\/var\/lib\/carillon\/[0-9a-f]{16}$/);
          expect(await fs.readFile(join(dataDir, 'database'), 'utf8')).toBe(`${clusterDir}\n`);
          await service.said(new RegExp(`the database lies in ${clusterDir}$`));
          await service.stop();
          const again = run({ checkout, dataDir });
          expect(await again.ready()).toMatchObject({ clusterDir, isNew: false });
          await again.stop();
        }
        expect(new Set(clusters).size).toBe(2);
        expect((await fs.stat(home)).mode & 0o777).toBe(0o700);
      } finally {
        const copies = (await fs.readdir(system)).filter((name) => name.startsWith('postgresql-'));
        const made = copies.filter((name) => !existing?.includes(name)).map((name) => join(system, name));
        for (const path of [...clusters, ...made]) await fs.rm(path, { recursive: true, force: true });
        if (!existing) await fs.rmdir(system).catch(() => undefined);
      }
    },
  );
});
