// fills an empty database through the API, and measures what each request costs PostgreSQL from
// the first one on: CPU time, and rows that are read. Then the same on tables that were truncated, by an
// import, and for partitions as empty as those of a new month.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiAnswer, callApi } from '../../../rig/src/api-nodes.ts';
import { cpuSecondsOfTree } from '../../../rig/src/measure.ts';
import { findProcesses, openDatabase, type Service, startService } from '../../../rig/src/service.ts';
import type { Sql } from '../../../server/src/database/db.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

const msMost = 1.5;
/** A table with this many rows is large: it has been analyzed since its statistics were worthless. */
const largeRows = 1_500;
/**
 * Rows of one large table for each user, device or event. Fewer than ten are needed. A walk through
 * 1,500 rows that the 25 requests of a transaction share is sixty; through 30,000 rows, shared by the
 * 500 rows that an import writes together, too.
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
  /** Rows read for each item, of the table of which most were read. */
  readonly rows: number;
  readonly table: string;
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

/** Rows that were read of each table so far, and rows that it has. Partitions count as one table. */
async function readTables(sql: Sql): Promise<ReadonlyMap<string, { read: number; live: number }>> {
  const rows = await sql<{ name: string; read: number; live: number }[]>`
    SELECT coalesce(pg_partition_root(relid), relid)::regclass::text AS name,
      sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 AS read, sum(n_live_tup)::float8 AS live
    FROM pg_stat_user_tables GROUP BY 1`;
  return new Map(rows.map(({ name, ...counts }) => [name, counts]));
}

/** An app on a service, with what each of its windows cost. */
class Filling {
  readonly measured: Window[] = [];
  readonly #service: Service;
  readonly #sql: Sql;
  readonly #postgres: number;
  readonly appId: string;
  readonly #key: string;

  private constructor(service: Service, sql: Sql, postgres: number, { id, server_key }: App) {
    this.#service = service;
    this.#sql = sql;
    this.#postgres = postgres;
    this.appId = id;
    this.#key = server_key;
  }

  static async begin(service: Service, sql: Sql): Promise<Filling> {
    const { postgres } = await findProcesses(service, sql);
    const app = await service.run<App>('app', 'create', `Filled ${Date.now()}`, '--plan', 'unlimited');
    return new Filling(service, sql, postgres[0] ?? 0, app);
  }

  post<Json>(path: string, body: object): Promise<ApiAnswer<Json>> {
    return callApi<Json>(`${this.#service.url}${path}`, { method: 'POST', key: this.#key, body });
  }

  register(i: number): Promise<ApiAnswer<{ id: string }>> {
    return this.post('/v1/devices', { platform: 'android', token: tokenOf(i) });
  }

  upsert(i: number, turn: number, device?: string): Promise<ApiAnswer<unknown>> {
    const properties = Object.fromEntries(propertiesOf(i, turn));
    const link = device && { device_id: device };
    return this.post('/v1/users', { external_id: `user-${i}`, first_name: 'Ada', properties, ...link });
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
    const before = await readTables(this.#sql);
    const secondsBefore = await cpuSecondsOfTree(this.#postgres);
    const result = await work();
    const seconds = (await cpuSecondsOfTree(this.#postgres)) - secondsBefore;
    const most = [...(await readTables(this.#sql))]
      .filter(([table]) => (before.get(table)?.live ?? 0) >= largeRows)
      .map(([table, { read }]) => ({ table, rows: (read - (before.get(table)?.read ?? 0)) / items }))
      .reduce((one, other) => (other.rows > one.rows ? other : one), { table: 'none', rows: 0 });
    this.measured.push({ what, ms: (seconds * 1000) / items, ...most });
    return result;
  }
}

const tokenOf = (i: number): string => `token-${i}:APA91b`.padEnd(152, 'x');

const propertiesOf = (i: number, turn: number): [string, number][] =>
  Array.from({ length: 10 }, (_, at) => [`key_${at}`, 10 * i + at + turn]);

/** Registers devices with their users and changes all users once more, in windows. */
async function fill(filling: Filling, { users, windows }: Size): Promise<void> {
  const each = users / windows;
  for (let from = 0; from < users; from += each) {
    const upTo = `${from} to ${from + each}`;
    const devices = await filling.window(`new devices ${upTo}`, each, () =>
      doAll(each, (i) => filling.register(from + i)),
    );
    await filling.window(`${upserts} of new users ${upTo}`, each, () =>
      doAll(each, (i) => filling.upsert(from + i, 0)),
    );
    // Half of the devices belong to users, as in an app where people sign in.
    await doAll(each / 2, (i) => filling.upsert(from + 2 * i, 0, devices[2 * i]?.id));
  }
  for (let from = 0; from < users; from += each) {
    const upTo = `${from} to ${from + each}`;
    await filling.window(`${upserts} of known users ${upTo}`, each, () =>
      doAll(each, (i) => filling.upsert(from + i, 1)),
    );
  }
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

/** Tracks an event of each user. */
async function trackAll(filling: Filling, { users, windows }: Size): Promise<void> {
  const each = users / windows;
  for (let from = 0; from < users; from += each) {
    await filling.window(`events ${from} to ${from + each}`, each, () =>
      doAll(each, (i) => filling.post('/v1/events', { external_id: `user-${from + i}`, name: 'article_read' })),
    );
  }
}

/** Sends a message to all devices in each window. Nobody configured a channel, so no provider is asked. */
async function sendAll(filling: Filling, { users, windows }: Size): Promise<void> {
  for (let i = 0; i < windows; i++) {
    await filling.window(`deliveries of message ${i}`, users, async () => {
      const body = { audience: { all: true }, content: { title: 'First minutes' } };
      const { status, json } = await filling.post<{ id: string }>('/v1/messages', body);
      if (status !== 200) throw new Error(`a message was answered ${status}: ${JSON.stringify(json)}`);
      while (!(await filling.isFinished(json.id))) await sleep(50);
    });
  }
}

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
    measured.flatMap(({ what, rows, table }) =>
      rows > rowsMost ? [`${what}: ${Math.round(rows)} rows of ${table}`] : [],
    ),
  );
}

export const requirement: Requirement = {
  number: 'R-102',
  leftOut: 'measures CPU time, on a quiet machine',
  title: 'The first minutes: requests to an empty database cost as little as later, also after TRUNCATE',
  async run(options) {
    const { workbench, report, isQuick } = options;
    const size = isQuick ? { users: 3_000, windows: 3 } : { users: 30_000, windows: 10 };
    const directory = await workbench.makeDirectory('first-minutes');
    const service = await startService(workbench, directory, { environment: { NEW_DEVICES_PER_MINUTE: '0' } });
    const sql = await openDatabase(workbench, service);
    const measure = async (where: string, work: (filling: Filling) => Promise<void>): Promise<void> => {
      report.progress(`${size.users} users: ${where}`);
      const filling = await Filling.begin(service, sql);
      await work(filling);
      claimWindows(options, where, filling);
    };
    const truncate = (names: readonly string[]) => sql.unsafe(`TRUNCATE ${names.join(', ')}`);
    await measure('empty database', (filling) => fill(filling, size));
    await truncate(tables);
    await measure('after TRUNCATE', (filling) => fill(filling, size));
    const useMonth = async (filling: Filling): Promise<void> => {
      await doAll(size.users, (i) => filling.register(i));
      await trackAll(filling, size);
      await sendAll(filling, size);
    };
    await measure('first events and deliveries', useMonth);
    // A partition that was truncated is as a new one: without rows, pages and statistics.
    await truncate(monthly);
    await measure('partitions of a new month', useMonth);
    await truncate(tables);
    const files = await workbench.makeDirectory('rows');
    await measure('import after TRUNCATE', (filling) => importAll(filling, files, size));
    await service.stop();
  },
};
