// Measures the work `audience`: what a filter costs over many devices through the API, beside a
// count over the same devices in JSONB. It also measures what the indexes cost upserts, and how
// long a whole audience takes to become batches. Nothing is sent.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';
import { median } from '../../rig/src/measure.ts';
import type { Service } from '../../rig/src/service.ts';
import { progress, RunError, type Workbench } from '../../rig/src/workbench.ts';
import { decodeId, type Uuid } from '../../server/src/ground/values/ids.ts';
import { countAllOverJsonb, preview, previewAll } from './audience-counts.ts';
import { type Filled, fillAudience, fillJsonb, fillUsers, tenProperties } from './audience-data.ts';
import { measuredFilters, usedFilter } from './audience-filters.ts';
import { audienceQuick, audienceUsual, checkDisk, sizesUpTo } from './audience-sizes.ts';
import { callForJson } from './call-api.ts';
import { watchOthers } from './costs.ts';
import { type Figure, figure } from './figures.ts';
import { createApp } from './own-app.ts';
import { startOwnService } from './own-service.ts';
import type { Measured, RunOptions } from './results.ts';

interface Plan {
  readonly warmRuns: number;
  readonly coldRounds: number;
  readonly snapshots: number;
  readonly users: number;
  readonly upsertMs: number;
}

const full: Plan = { warmRuns: 9, coldRounds: 3, snapshots: 3, users: 5_000, upsertMs: 8_000 };
const quick: Plan = { warmRuns: 3, coldRounds: 1, snapshots: 1, users: 200, upsertMs: 1_000 };

/** Upserts in flight at once: more than the database has cores, fewer than it has connections. */
const upsertsInFlight = 16;
/**
 * Building an index takes longer the larger the table is. A build without any progress for this
 * long is a failure.
 */
const standstillMsMax = 480_000;
/** No statement timeout: the size of the audience decides how long a statement takes. */
const statementTimeoutMs = 0;
/**
 * Targets in milliseconds: previews of up to a million devices, previews that an index alone
 * answers, and previews of more devices.
 */
const [previewMsMost, selectiveMsMost, largeMsMost] = [200, 5, 2_000];

export async function measureAudience(
  workbench: Workbench,
  { isQuick, devices = isQuick ? audienceQuick : audienceUsual }: RunOptions & { readonly devices?: number },
): Promise<Measured> {
  const sizes = sizesUpTo(devices);
  await checkDisk(sizes);
  const plan = isQuick ? quick : full;
  const note = startNoting();
  const dataDir = await workbench.makeDirectory('data');
  const options = { dataDir, environment: { SEND_WAIT_MS: '0' }, statementTimeoutMs };
  let { service, sql, postgres } = await startOwnService(workbench, options);
  // Messages that are accepted here must not be sent.
  await service.run('pause');
  const countOthers = await watchOthers();

  const filters = measuredFilters(new Date(Date.now() - 3_600_000));
  const apps: App[] = [];
  for (const size of sizes) {
    apps.push(await makeApp(service, sql, size));
    note(`${size} devices are there`);
  }
  const app = apps.at(-1);
  if (app === undefined) throw new RunError('no size is measured');
  // The upserted users are in the same table, so that each of its indexes takes them, but in an app
  // of their own, so that they change no count.
  const upserted = await makeApp(service, sql, plan.users * 2);
  const users = await fillUsers(sql, upserted, plan.users);
  await fillJsonb(sql, app);
  await settle(sql);
  note('the same are there in JSONB');

  const withoutIndex = await upsertsPerSecond(service, upserted, users, plan);
  await settle(sql);
  const unindexed = await previewAll(service, app, filters, plan.warmRuns);
  const jsonb = await countAllOverJsonb(sql, app, filters, Math.ceil(plan.warmRuns / 2));
  note('measured without indexes, and over JSONB');

  await callForJson({
    method: 'POST',
    url: `${service.url}/v1/segments`,
    key: app.serverKey,
    body: { name: 'Everything', filter: usedFilter(filters) },
  });
  await untilIndexed(service, sql, app);
  note('the indexes are built');
  const withIndexes = await upsertsPerSecond(service, upserted, users, plan);
  await settle(sql);
  const growth: Figure[] = [];
  for (const each of apps.slice(0, -1)) {
    for (const { name, count, ms } of await previewAll(service, each, filters, plan.warmRuns)) {
      const made = figure(`${name}: warm, of ${each.devices}`, median(ms), 'ms');
      growth.push(count === null ? { ...made, value: 'refused' } : made);
    }
    note(`measured ${each.devices} devices with indexes`);
  }
  const indexed = await previewAll(service, app, filters, plan.warmRuns);
  note(`measured ${devices} devices with indexes`);
  const snapshotSeconds = await snapshot(service, sql, app, plan);
  note('measured the snapshot');

  const cold = new Map<string, number[]>(filters.map(({ name }) => [name, []]));
  for (let round = 0; round < plan.coldRounds; round++) {
    await sql.end({ timeout: 1 });
    await service.stop();
    ({ service, sql } = await startOwnService(workbench, options));
    for (const filter of filters) cold.get(filter.name)?.push((await preview(service, app, filter)).ms);
  }
  note('measured cold');

  const figures = filters.flatMap(({ name, isSelective }, i): Figure[] => {
    const [before, other, now] = [unindexed[i], jsonb[i], indexed[i]];
    if (!before || !other || !now) throw new RunError(`'${name}' was not measured`);
    const counts = new Set([before.count, other.count, now.count].filter((count) => count !== null));
    if (counts.size > 1) {
      throw new RunError(`'${name}' counts ${before.count}, with indexes ${now.count}, over JSONB ${other.count}`);
    }
    const warmMs = median(now.ms);
    const atMost = devices > audienceUsual ? largeMsMost : isSelective ? selectiveMsMost : previewMsMost;
    return [
      figure(`${name}: warm`, warmMs, 'ms', { atMost }),
      figure(`${name}: warm`, warmMs, 'ms', { beside: { side: 'COUNT(*) over JSONB', value: median(other.ms) } }),
      // The first count after the database was started.
      figure(`${name}: cold`, median(cold.get(name) ?? []), 'ms'),
      figure(`${name}: no index`, median(before.ms), 'ms'),
      { name: `${name}: devices`, value: now.count ?? 'refused', unit: '' },
    ];
  });
  return {
    name: devices === audienceUsual ? 'audience' : `audience-${devices}`,
    isTrial: devices < audienceUsual,
    params: { devices },
    figures: [
      ...figures,
      ...growth,
      figure('a message to all is in batches after', snapshotSeconds, 's'),
      figure('upserts of ten properties, no index', withoutIndex, '/s'),
      figure('upserts of ten properties, ten indexes', withIndexes, '/s'),
    ],
    foreignCores: await countOthers(),
    postgres,
  };
}

/** Returns a function that prints a line with the time since its previous line. */
function startNoting(): (line: string) => void {
  let from = performance.now();
  return (line) => {
    const now = performance.now();
    progress(`${line}, after ${((now - from) / 1000).toFixed(1)} s`);
    from = now;
  };
}

interface App extends Filled {
  readonly serverKey: string;
}

/**
 * Makes an app whose catalog has ten keys, each in a slot, with devices that hold values of them.
 */
async function makeApp(service: Service, sql: Sql, devices: number): Promise<App> {
  const { id, serverKey } = await createApp(service, `Benchmark ${devices}`);
  const appId = decodeId('app', id);
  if (appId === undefined) throw new RunError('the app has no id');
  const app = { appId, serverKey, devices };
  await upsert(service, app, 'first', 0);
  await fillAudience(sql, app);
  return app;
}

/**
 * Vacuums and writes a checkpoint. Otherwise autovacuum would start in the middle of a measurement.
 */
async function settle(sql: Sql): Promise<void> {
  await sql`VACUUM (ANALYZE) people, users, devices, audience, properties`;
  await sql`CHECKPOINT`;
}

function upsert(service: Service, { serverKey }: App, externalId: string, turn: number): Promise<unknown> {
  const properties = { ...tenProperties, campaign: `c-${turn % 1000}`, score: turn % 100, orders: turn % 12 };
  return callForJson({
    method: 'POST',
    url: `${service.url}/v1/users`,
    key: serverKey,
    body: { external_id: externalId, properties },
  });
}

/** Upserts a second. Each one changes ten properties of a user with one or two devices. */
async function upsertsPerSecond(
  service: Service,
  app: App,
  users: readonly string[],
  { upsertMs }: Plan,
): Promise<number> {
  let done = 0;
  let turn = 0;
  const from = performance.now();
  const work = async (): Promise<void> => {
    while (performance.now() - from < upsertMs) {
      const number = turn++;
      await upsert(service, app, users[number % users.length] ?? '', number);
      done++;
    }
  };
  await Promise.all(Array.from({ length: upsertsInFlight }, work));
  return done / ((performance.now() - from) / 1000);
}

/**
 * Resolves when the service has built an index for each of the ten keys. It builds them because a
 * segment compares the keys.
 */
async function untilIndexed(service: Service, sql: Sql, { serverKey }: App): Promise<void> {
  let seen = '';
  let movedAt = performance.now();
  for (;;) {
    const { data } = await callForJson<{ data: readonly { indexed: boolean }[] }>({
      method: 'GET',
      url: `${service.url}/v1/properties`,
      key: serverKey,
    });
    const building = await sql`
      SELECT index_relid, phase, lockers_done, blocks_done, tuples_done FROM pg_stat_progress_create_index`;
    const others = await sql`
      SELECT 1 FROM pg_indexes WHERE indexname IN ('audience_by_country', 'audience_by_platform_unit', 'audience_by_last_seen_at')`;
    if (data.every(({ indexed }) => indexed) && building.length === 0 && others.length === 3) return;
    const now = JSON.stringify([data, building]);
    if (now !== seen) movedAt = performance.now();
    else if (performance.now() - movedAt > standstillMsMax) {
      throw new RunError('the indexes that a segment asks for are not built');
    }
    seen = now;
    await sleep(200);
  }
}

/** Seconds from the request for a message to everybody until its batches are stored. */
async function snapshot(service: Service, sql: Sql, app: App, { snapshots }: Plan): Promise<number> {
  const seconds: number[] = [];
  for (let i = 0; i < snapshots; i++) {
    const from = performance.now();
    const message = await callForJson<{ id: string; report: { accepted: number } }>({
      method: 'POST',
      url: `${service.url}/v1/messages`,
      key: app.serverKey,
      body: { audience: { all: true }, content: { title: 'Nobody gets this' } },
    });
    seconds.push((performance.now() - from) / 1000);
    const [row] = await sql<{ active: number }[]>`
      SELECT count(*) AS active FROM audience WHERE app_id = ${app.appId as Uuid} AND active`;
    if (message.report.accepted !== row?.active) {
      throw new RunError(`${message.report.accepted} of ${row?.active} devices were accepted`);
    }
    await callForJson({
      method: 'POST',
      url: `${service.url}/v1/messages/${message.id}/cancel`,
      key: app.serverKey,
      body: {},
    });
  }
  return median(seconds);
}
