// The service that `console` measures: an app with seeded devices, an app with millions of events,
// and an owner of both.
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Sql } from '@carillon/postgres';
import type { Service } from '../../../rig/src/service.ts';
import { progress, RunError, type Workbench } from '../../../rig/src/workbench.ts';
import { callForJson } from '../call-api.ts';
import { makeCredentials } from '../credentials.ts';
import { fillReports } from '../fill-reports.ts';
import { makeApp, type OwnApp, setChannels } from '../own-app.ts';
import { type OwnService, startOwnService } from '../own-service.ts';
import { startReceiver } from '../receiver.ts';
import type { Sizes } from '../reports-world.ts';

export interface ConsoleWorld extends OwnService {
  /** The app of the seeded devices. */
  readonly seeded: OwnApp;
  /** The id of the app with ninety days of events. */
  readonly reportsApp: string;
  /** The set-up link of the first owner; null: the owner was made in an earlier run. */
  readonly setupLink: string | null;
}

export interface WorldSizes {
  readonly devices: number;
  readonly reports: Sizes;
}

/** No statement timeout: the size of the world decides how long a statement takes. */
const statementTimeoutMs = 0;

/** The apps of a world that is kept, and the sizes that it was made with. */
interface KeptWorld extends WorldSizes {
  readonly seeded: OwnApp;
  readonly reportsApp: string;
}

/** Makes the world, or takes the one that was kept in `keepDir` and had the same sizes. */
export async function makeConsoleWorld(
  workbench: Workbench,
  sizes: WorldSizes,
  keepDir: string | undefined,
): Promise<ConsoleWorld> {
  const receiver = await startReceiver(workbench);
  const dataDir = keepDir ?? (await workbench.makeDirectory('data'));
  if (keepDir !== undefined) await mkdir(keepDir, { recursive: true });
  const noteFile = join(dataDir, 'world.json');
  const kept = existsSync(noteFile) ? (JSON.parse(await readFile(noteFile, 'utf8')) as KeptWorld) : undefined;
  if (kept && !isDeepStrictEqual({ devices: kept.devices, reports: kept.reports }, sizes)) {
    throw new RunError(`${dataDir} keeps a world of other sizes.`);
  }
  const reportsApp = kept?.reportsApp ?? (await fillReports(workbench, dataDir, sizes.reports)).appId;
  // With SEND_WAIT_MS 0 a send is answered when it is accepted.
  const environment = { ...receiver.environment, SEND_WAIT_MS: '0' };
  const own = await startOwnService(workbench, { dataDir, environment, statementTimeoutMs });
  const { service, sql } = own;
  const credentials = makeCredentials(receiver.address);
  const seeded = kept?.seeded ?? (await makeApp(workbench, service, { way: 'mixed', credentials }));
  // The receiver has another port in each run.
  if (kept) await setChannels(workbench, service, { appId: seeded.id, channels: ['apns', 'fcm'], credentials });
  if (!kept) await seedDevices(service, sql, seeded, sizes.devices);
  const setupLink = kept ? null : (await service.run<{ link: string }>('owner', 'setup-link')).link;
  const world = { ...own, seeded, reportsApp, setupLink };
  if (keepDir !== undefined) await writeFile(noteFile, JSON.stringify({ ...sizes, seeded, reportsApp }));
  return world;
}

async function seedDevices(service: Service, sql: Sql, seeded: OwnApp, devices: number): Promise<void> {
  const { seconds } = await service.run<{ seconds: number }>('seed', seeded.id, '--devices', String(devices));
  progress(`${devices} devices seeded in ${seconds.toFixed(0)} s`);
  await saveSegment(service, sql, seeded);
  // Otherwise autovacuum would start in the middle of a measurement.
  await sql`VACUUM (ANALYZE)`;
  await sql`CHECKPOINT`;
}

const compared = ['plan', 'orders', 'newsletter'];
const indexedWithinMs = 300_000;

/**
 * An app of this size has segments, and the service builds indexes for what they compare. Resolves
 * when they are built.
 */
async function saveSegment(service: Service, sql: Sql, { serverKey: key }: OwnApp): Promise<void> {
  const filter = {
    and: [
      { field: 'country', op: 'eq', value: 'DE' },
      { field: 'language', op: 'eq', value: 'de' },
      { field: 'device.platform', op: 'eq', value: 'ios' },
      { field: 'device.last_seen_at', op: 'within_last', value: '30d' },
      { field: 'properties.plan', op: 'eq', value: 'pro' },
      { field: 'properties.orders', op: 'gte', value: 5 },
      { field: 'properties.newsletter', op: 'eq', value: true },
    ],
  };
  await callForJson({ method: 'POST', url: `${service.url}/v1/segments`, key, body: { name: 'Known well', filter } });
  const deadline = performance.now() + indexedWithinMs;
  for (;;) {
    const { data } = await callForJson<{ data: readonly { key: string; indexed: boolean }[] }>({
      method: 'GET',
      url: `${service.url}/v1/properties`,
      key,
    });
    const building = await sql`SELECT 1 FROM pg_stat_progress_create_index`;
    const left = data.filter((property) => compared.includes(property.key) && !property.indexed);
    if (left.length === 0 && building.length === 0) return;
    if (performance.now() > deadline) throw new RunError('the indexes that a segment asks for are not built');
    await sleep(500);
  }
}
