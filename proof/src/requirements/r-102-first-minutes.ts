// fills an empty database through the API, and measures what each upsert costs PostgreSQL from
// the first one on: CPU time, and rows that are read. Then the same on tables that were truncated.
import { type ApiAnswer, callApi } from '../../../rig/src/api-nodes.ts';
import { cpuSecondsOfTree } from '../../../rig/src/measure.ts';
import { findProcesses, openDatabase, type Service, startService } from '../../../rig/src/service.ts';
import type { Sql } from '../../../server/src/database/db.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

const msMost = 1.5;
/**
 * A walk through the tables of a second's growth, shared by the upserts of one transaction, is a few
 * hundred rows an upsert. A walk through 30,000 rows is at least 1,200.
 */
const rowsMost = 600;
const atOnce = 32;
const tables = ['people', 'users', 'devices', 'device_tokens', 'device_changes', 'audience'];

interface Keys {
  readonly server_key: string;
}

interface Window {
  readonly what: string;
  readonly ms: number;
  readonly rows: number;
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

/** PostgreSQL's work so far: CPU time of all its processes, and rows read from the tables of people. */
async function readCosts(sql: Sql, postgres: number): Promise<{ seconds: number; rows: number }> {
  const [row] = await sql<{ rows: number }[]>`
    SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 AS rows FROM pg_stat_user_tables
    WHERE relname = ANY(${tables}::text[])`;
  return { seconds: await cpuSecondsOfTree(postgres), rows: row?.rows ?? 0 };
}

/** Registers devices with their users and changes all users once more, in windows. */
async function fill(
  service: Service,
  sql: Sql,
  { users, windows }: { users: number; windows: number },
): Promise<Window[]> {
  const { postgres } = await findProcesses(service, sql);
  const { server_key: key } = await service.run<Keys>('app', 'create', `Filled ${Date.now()}`, '--plan', 'unlimited');
  const post = <Json>(path: string, body: object) =>
    callApi<Json>(`${service.url}${path}`, { method: 'POST', key, body });
  const upsert = (i: number, turn: number, device?: string) => {
    const properties = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`key_${at}`, 10 * i + at + turn]));
    return post('/v1/users', {
      external_id: `user-${i}`,
      first_name: 'Ada',
      properties,
      ...(device && { device_id: device }),
    });
  };
  const measured: Window[] = [];
  const each = users / windows;
  const measure = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    const before = await readCosts(sql, postgres[0] ?? 0);
    await work();
    const after = await readCosts(sql, postgres[0] ?? 0);
    measured.push({
      what,
      ms: ((after.seconds - before.seconds) * 1000) / each,
      rows: (after.rows - before.rows) / each,
    });
  };
  for (let from = 0; from < users; from += each) {
    const devices = await doAll(each, (i) =>
      post<{ id: string }>('/v1/devices', { platform: 'android', token: `token-${from + i}:APA91b`.padEnd(152, 'x') }),
    );
    await measure(`new users ${from} to ${from + each}`, () => doAll(each, (i) => upsert(from + i, 0)));
    // Half of the devices belong to users, as in an app where people sign in.
    await doAll(each / 2, (i) => upsert(from + 2 * i, 0, devices[2 * i]?.id));
  }
  for (let from = 0; from < users; from += each)
    await measure(`changes of users ${from} to ${from + each}`, () => doAll(each, (i) => upsert(from + i, 1)));
  return measured;
}

function claimWindows({ report }: ProofOptions, where: string, measured: readonly Window[]): void {
  for (const { what, ms, rows } of measured)
    report.progress(`    ${what}: ${ms.toFixed(2)} ms, ${Math.round(rows)} rows`);
  const most = (of: (window: Window) => number) => Math.max(...measured.map(of));
  report.claim(
    `${where}: an upsert costs PostgreSQL at most ${msMost} ms at any moment`,
    `${most(({ ms }) => ms).toFixed(2)} ms in the dearest of ${measured.length} windows, ${measured.at(-1)?.ms.toFixed(2)} ms in the last`,
    measured.flatMap(({ what, ms }) => (ms > msMost ? [`${what}: ${ms.toFixed(2)} ms`] : [])),
  );
  report.claim(
    `${where}: no statement walks through a large table`,
    `${Math.round(most(({ rows }) => rows))} rows read for an upsert in the dearest window`,
    measured.flatMap(({ what, rows }) => (rows > rowsMost ? [`${what}: ${Math.round(rows)} rows`] : [])),
  );
}

export const requirement: Requirement = {
  number: 'R-102',
  leftOut: 'measures CPU time, on a quiet machine',
  title: 'The first minutes: upserts into an empty database cost as little as later, also after TRUNCATE',
  async run(options) {
    const { workbench, report, isQuick } = options;
    const size = isQuick ? { users: 3_000, windows: 3 } : { users: 30_000, windows: 10 };
    const service = await startService(workbench, await workbench.makeDirectory('first-minutes'), {
      environment: { NEW_DEVICES_PER_MINUTE: '0' },
    });
    const sql = await openDatabase(workbench, service);
    report.progress(`${size.users} devices and users in an empty database`);
    claimWindows(options, 'empty database', await fill(service, sql, size));
    await sql.unsafe(`TRUNCATE ${tables.join(', ')}`);
    report.progress(`${size.users} devices and users after TRUNCATE`);
    claimWindows(options, 'after TRUNCATE', await fill(service, sql, size));
    await service.stop();
  },
};
