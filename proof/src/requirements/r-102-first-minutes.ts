// fills an empty database through the API, and measures what each request costs PostgreSQL from
// the first one on: CPU time, and rows that are read. Then the same for a second app beside the first,
// in the partitions of a new month, and on tables that were truncated, also by an import. The service
// has its embedded server, or a new database of the server in DATABASE_URL.
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPool, type Sql } from '@carillon/postgres';
import { type ApiAnswer, callApi } from '../../../rig/src/api-nodes.ts';
import { cpuSecondsOfTree } from '../../../rig/src/measure.ts';
import { findProcesses, openDatabase, type Service, startService } from '../../../rig/src/service.ts';
import type { Workbench } from '../../../rig/src/workbench.ts';
import { ensureEventPartitions } from '../../../server/src/insight/events/partitions.ts';
import { ensureDeliveryPartitions } from '../../../server/src/sending/delivery/partitions.ts';
import { logReads, ReadLog } from '../read-log.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

const msMost = 1.5;
/** A table with this many rows is large: it must have been analyzed since it was small. */
const largeRows = 1_500;
/**
 * The allowed rows of one large table for each user, device or event. Fewer than ten are needed. A
 * scan of 1,500 rows for the 25 requests of a transaction makes sixty each, and so does a scan of
 * 30,000 rows for the 500 rows that an import writes together.
 */
const rowsMost = 20;
const atOnce = 32;
const tables = ['people', 'users', 'devices', 'device_tokens', 'device_changes', 'audience'];
const monthly = ['events', 'subject_events', 'deliveries'];

interface App {
  readonly id: string;
  readonly server_key: string;
}

interface Size {
  readonly users: number;
  readonly windows: number;
}

interface Window {
  readonly what: string;
  readonly ms: number;
  /** Rows read for each item, of the table with the most reads. */
  readonly rows: number;
  readonly table: string;
  /** The statements that read them, if they are too many. */
  readonly by: readonly string[];
}

/** Does `count` requests, `atOnce` at a time, and returns their answers. Throws for any but 200. */
async function doAll<Json>(count: number, request: (i: number) => Promise<ApiAnswer<Json>>): Promise<Json[]> {
  const answers: Json[] = [];
  let next = 0;
  const line = async (): Promise<void> => {
    while (next < count) {
      const i = next++;
      const { status, json } = await request(i);
      if (status !== 200) throw new Error(`request ${i} was answered ${status}: ${JSON.stringify(json)}`);
      answers[i] = json;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, line));
  return answers;
}

/** The rows read of each table so far, and its number of rows. Partitions count as one table. */
async function readTables(sql: Sql): Promise<ReadonlyMap<string, { read: number; live: number }>> {
  const rows = await sql<{ name: string; read: number; live: number }[]>`
    SELECT coalesce(pg_partition_root(relid), relid)::regclass::text AS name,
      sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 AS read, sum(n_live_tup)::float8 AS live
    FROM pg_stat_user_tables GROUP BY 1`;
  return new Map(rows.map(({ name, ...counts }) => [name, counts]));
}

/** An app on a service, with the cost of each window. */
class Filling {
  readonly measured: Window[] = [];
  readonly #service: Service;
  readonly #sql: Sql;
  readonly #postgres: number;
  readonly #log: ReadLog | undefined;
  readonly appId: string;
  readonly #key: string;

  private constructor({ service, sql, log }: World, postgres: number, { id, server_key }: App) {
    this.#service = service;
    this.#sql = sql;
    this.#log = log;
    this.#postgres = postgres;
    this.appId = id;
    this.#key = server_key;
  }

  static async begin(world: World): Promise<Filling> {
    const { service, sql } = world;
    const { postgres } = await findProcesses(service, sql);
    const app = await service.run<App>('app', 'create', `Filled ${Date.now()}`, '--plan', 'unlimited');
    return new Filling(world, postgres[0] ?? 0, app);
  }

  post<Json>(path: string, body: object): Promise<ApiAnswer<Json>> {
    return callApi<Json>(`${this.#service.url}${path}`, { method: 'POST', key: this.#key, body });
  }

  register(i: number): Promise<ApiAnswer<{ id: string }>> {
    return this.post('/v1/devices', { platform: 'android', token: tokenOf(i) });
  }

  upsert(i: number, turn: number, device?: string): Promise<ApiAnswer<object>> {
    const properties = Object.fromEntries(propertiesOf(i, turn));
    const link = device && { device_id: device };
    return this.post('/v1/users', { external_id: userOf(i), first_name: 'Ada', properties, ...link });
  }

  track(subject: { device_id: string | undefined } | { external_id: string }): Promise<ApiAnswer<object>> {
    return this.post('/v1/events', { name: 'article_read', ...subject });
  }

  async isFinished(messageId: string): Promise<boolean> {
    const url = `${this.#service.url}/v1/messages/${messageId}`;
    return (await callApi<{ finished_at: string | null }>(url, { key: this.#key })).json.finished_at !== null;
  }

  import(file: string): Promise<unknown> {
    return this.#service.run('import', this.appId, file);
  }

  /** Measures work that does something for `items` devices, users or events. */
  async window<Result>(what: string, items: number, work: () => Promise<Result>): Promise<Result> {
    await this.#log?.begin();
    const before = await readTables(this.#sql);
    const secondsBefore = await cpuSecondsOfTree(this.#postgres);
    const result = await work();
    const seconds = (await cpuSecondsOfTree(this.#postgres)) - secondsBefore;
    const most = [...(await readTables(this.#sql))]
      .filter(([table]) => (before.get(table)?.live ?? 0) >= largeRows)
      .map(([table, { read }]) => ({ table, rows: (read - (before.get(table)?.read ?? 0)) / items }))
      .reduce((one, other) => (other.rows > one.rows ? other : one), { table: 'none', rows: 0 });
    const by = most.rows > rowsMost ? await this.#log?.tell(most.table) : undefined;
    this.measured.push({ what, ms: (seconds * 1000) / items, ...most, by: by ?? [] });
    return result;
  }
}

const userOf = (i: number): string => `user-${i}`;

const tokenOf = (i: number): string => `token-${i}:APA91b`.padEnd(152, 'x');

const propertiesOf = (i: number, turn: number): [string, number][] =>
  Array.from({ length: 10 }, (_, at) => [`key_${at}`, 10 * i + at + turn]);

/**
 * Registers devices, each for a user, links every second one to its user, changes all users once more,
 * and tracks an event of each.
 */
async function fill(filling: Filling, { users, windows }: Size): Promise<void> {
  const each = users / windows;
  const devices: string[] = [];
  const inWindows = async (what: string, request: (i: number) => Promise<ApiAnswer<{ id?: string }>>) => {
    for (let from = 0; from < users; from += each) {
      const answers = await filling.window(`${what} ${from} to ${from + each}`, each, () =>
        doAll(each, (i) => request(from + i)),
      );
      devices.push(...answers.flatMap(({ id = [] }) => id));
    }
  };
  await inWindows('new devices', (i) => filling.register(i));
  // As in an app where people sign in.
  await inWindows(`${upserts} of new users`, (i) => filling.upsert(i, 0, i % 2 === 0 ? devices[i] : undefined));
  await inWindows(`${upserts} of known users`, (i) => filling.upsert(i, 1));
  await inWindows('events', (i) => filling.track(i % 2 === 0 ? { device_id: devices[i] } : { external_id: userOf(i) }));
}

/** Imports devices with their users, a file for each window. */
async function importAll(filling: Filling, directory: string, { users, windows }: Size): Promise<void> {
  const each = users / windows;
  const keys = propertiesOf(0, 0).map(([key]) => `user.properties.${key}`);
  for (let from = 0; from < users; from += each) {
    const file = join(directory, `from-${from}.csv`);
    const lines = Array.from({ length: each }, (_, i) =>
      ['android', tokenOf(from + i), `user-${from + i}`, ...propertiesOf(from + i, 0).map(([, value]) => value)].join(),
    );
    await writeFile(file, [`platform,token,external_id,${keys.join()}`, ...lines, ''].join('\n'));
    await filling.window(`import of rows ${from} to ${from + each}`, each, () => filling.import(file));
  }
}

/** Sends messages to all devices, one after the other. Nobody configured a channel, so no provider is asked. */
async function sendAll(filling: Filling, { users }: Size): Promise<void> {
  for (let i = 0; i < 2; i++) {
    await filling.window(`deliveries of message ${i}`, users, async () => {
      const body = { audience: { all: true }, content: { title: 'First minutes' } };
      const { status, json } = await filling.post<{ id: string }>('/v1/messages', body);
      if (status !== 200) throw new Error(`a message was answered ${status}: ${JSON.stringify(json)}`);
      while (!(await filling.isFinished(json.id))) await sleep(50);
      await sleep(countsLateMs);
    });
  }
}

/**
 * Milliseconds after which the server has counted the reads of an idle connection
 * (PGSTAT_IDLE_INTERVAL, and some more). The connections of a send become idle after it, and their
 * reads must not count for the following work.
 */
const countsLateMs = 11_000;

const upserts = 'upserts';

function claimWindows({ report }: ProofOptions, where: string, { measured }: Filling): void {
  for (const { what, ms, rows, table } of measured)
    report.progress(`    ${what}: ${ms.toFixed(2)} ms, ${rows.toFixed(1)} rows of ${table}`);
  const dear = measured.filter(({ what }) => what.startsWith(upserts));
  if (dear.length > 0) {
    report.claim(
      `${where}: an upsert costs PostgreSQL at most ${msMost} ms at any moment`,
      `${Math.max(...dear.map(({ ms }) => ms)).toFixed(2)} ms in the dearest of ${dear.length} windows, ${dear.at(-1)?.ms.toFixed(2)} ms in the last`,
      dear.flatMap(({ what, ms }) => (ms > msMost ? [`${what}: ${ms.toFixed(2)} ms`] : [])),
    );
  }
  report.claim(
    `${where}: no statement walks through a large table`,
    `${Math.max(...measured.map(({ rows }) => rows)).toFixed(1)} rows of one table for an item in the dearest of ${measured.length} windows`,
    measured.flatMap(({ what, rows, table, by }) =>
      rows > rowsMost ? [[`${what}: ${Math.round(rows)} rows of ${table}`, ...by].join('\n        ')] : [],
    ),
  );
}

/** A service, a connection to its database, and the log of the database's server where it is known. */
interface World {
  readonly service: Service;
  readonly sql: Sql;
  readonly log: ReadLog | undefined;
}

async function startOnEmpty(workbench: Workbench, directory: string): Promise<World> {
  const environment = { NEW_DEVICES_PER_MINUTE: '0' };
  const serverUrl = process.env['DATABASE_URL'];
  if (serverUrl === undefined) {
    const first = await startService(workbench, directory, { environment });
    const own = await openDatabase(workbench, first);
    await logReads(own, 'carillon');
    await own.end();
    // New connections are logged.
    await first.stop();
    const service = await startService(workbench, directory, { environment });
    return {
      service,
      sql: await openDatabase(workbench, service),
      log: new ReadLog(join(directory, 'postgres.log')),
    };
  }
  const open = (url: string): Sql =>
    openPool({ url, connectionsMax: 1, name: 'carillon proof', statementTimeoutMs: 600_000 });
  const admin = open(process.env['DATABASE_ADMIN_URL'] ?? serverUrl);
  const name = `carillon_first_minutes_${process.pid}`;
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await admin.unsafe(`CREATE DATABASE ${name} OWNER ${url.username}`);
  workbench.onClose(async () => {
    await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  });
  await logReads(admin, name);
  const sql = open(url.href);
  workbench.onClose(() => sql.end({ timeout: 1 }));
  // A server of tests may run without fsync.
  const safety = { ALLOW_UNSAFE_POSTGRES: '1', MASTER_KEY: randomBytes(32).toString('base64') };
  const service = await startService(workbench, directory, {
    environment: { ...environment, ...safety, DATABASE_URL: url.href },
  });
  const log = process.env['POSTGRES_LOG'];
  return { service, sql, log: log === undefined ? undefined : new ReadLog(log) };
}

/** Gives the tables of events and deliveries the partitions of a new month: without rows and statistics. */
async function beginMonth(sql: Sql): Promise<void> {
  const partitions = await sql<{ name: string }[]>`
    SELECT inhrelid::regclass::text AS name FROM pg_inherits
    WHERE inhparent = ANY(${monthly}::text[]::regclass[]) AND inhrelid IN (SELECT oid FROM pg_class WHERE relkind = 'r')`;
  for (const { name } of partitions) await sql.unsafe(`DROP TABLE ${name}`);
  await ensureEventPartitions(sql, { nowMs: Date.now() });
  await ensureDeliveryPartitions(sql, Date.now());
}

export const requirement: Requirement = {
  number: 'R-102',
  title: 'The first minutes: requests to an empty database cost as little as later, also after TRUNCATE',
  async run(options) {
    const { workbench, report, isQuick } = options;
    const size = isQuick ? { users: 5_000, windows: 2 } : { users: 30_000, windows: 10 };
    const smaller = isQuick ? { users: 2_500, windows: 2 } : size;
    const world = await startOnEmpty(workbench, await workbench.makeDirectory('first-minutes'));
    const { service, sql } = world;
    const measure = async (where: string, work: (filling: Filling) => Promise<void>): Promise<void> => {
      report.progress(where);
      const filling = await Filling.begin(world);
      await work(filling);
      claimWindows(options, where, filling);
    };
    const truncate = () => sql.unsafe(`TRUNCATE ${[...tables, ...monthly].join(', ')}`);
    await measure('empty database', async (filling) => {
      await fill(filling, size);
      await sendAll(filling, size);
      // Within an hour autovacuum does the same.
      await sql`VACUUM (ANALYZE)`;
      await filling.window(`${upserts} an hour later`, size.users, () =>
        doAll(size.users, (i) => filling.upsert(i, 2)),
      );
    });
    await beginMonth(sql);
    await measure('second app, new month', async (filling) => {
      await fill(filling, smaller);
      await sendAll(filling, smaller);
    });
    await truncate();
    await measure('after TRUNCATE', async (filling) => {
      await fill(filling, smaller);
      await sendAll(filling, smaller);
    });
    await truncate();
    const files = await workbench.makeDirectory('rows');
    await measure('import after TRUNCATE', (filling) => importAll(filling, files, size));
    await service.stop();
  },
};
