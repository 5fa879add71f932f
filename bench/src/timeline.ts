// Measures the work `timeline`: pages of a large message's deliveries whose filter matches little
// or nothing. It also measures what twenty of these requests at once cost the reads of another app.
import { setTimeout as sleep } from 'node:timers/promises';
import { openPool, startEmbeddedPostgres } from '@carillon/postgres';
import { percentile } from '../../rig/src/measure.ts';
import type { Workbench } from '../../rig/src/workbench.ts';
import { createClock } from '../../server/src/ground/database/clock.ts';
import { encodeId, mintUuid } from '../../server/src/ground/values/ids.ts';
import { prepareDatabase } from '../../server/src/operation/process/prepare-database.ts';
import { callForJson } from './call-api.ts';
import { watchOthers } from './costs.ts';
import { type Figure, figure, percentiles } from './figures.ts';
import { startOwnService } from './own-service.ts';
import type { Measured, RunOptions } from './results.ts';
import { makeTimelineWorld, type TimelineWorld } from './timeline-world.ts';

const devicesUsual = 1_000_000;

const rounds = { full: 50, quick: 2 };
/** Reads of the other app, one every `besideEveryMs`. */
const besideReads = { full: 300, quick: 20 };
const besideEveryMs = 10;
const atOnce = 20;
/** Targets of a filter that matches nothing, and of reads beside such filters, by reads alone. */
const nothingMatchesMsMost = 50;
const besideMost = 2;

interface Page {
  readonly data: readonly unknown[];
  readonly next_cursor: string | null;
}

export async function measureTimeline(
  workbench: Workbench,
  { isQuick, devices = isQuick ? 5_000 : devicesUsual }: RunOptions & { readonly devices?: number },
): Promise<Measured> {
  const size = isQuick ? 'quick' : 'full';
  const dataDir = await workbench.makeDirectory('data');
  const world = await fill(workbench, dataDir, devices);
  const { service, postgres } = await startOwnService(workbench, { dataDir });
  const countOthers = await watchOthers();

  const read = async (key: string, message: string, query: string): Promise<{ ms: number; page: Page }> => {
    const from = performance.now();
    const url = `${service.url}/v1/messages/${message}/deliveries?${query}`;
    const page = await callForJson<Page>({ method: 'GET', url, key });
    return { ms: performance.now() - from, page };
  };
  const figures: Figure[] = [];
  for (const { name, message, query } of questionsOf(world)) {
    const times: number[] = [];
    for (let round = 0; round <= rounds[size]; round++) times.push((await read(world.serverKey, message, query)).ms);
    let matches = 0;
    let pages = 0;
    for (let cursor: string | null = ''; cursor !== null; pages++) {
      const { page } = await read(world.serverKey, message, cursor === '' ? query : `${query}&cursor=${cursor}`);
      matches += page.data.length;
      cursor = page.next_cursor;
    }
    const target = matches === 0 ? { atMost: nothingMatchesMsMost } : {};
    figures.push(
      // The first request opens a connection, so it is left out.
      ...percentiles(name, times.slice(1), [0.5, 0.95], target),
      figure(`${name}: matches`, matches, ''),
      figure(`${name}: pages of all matches`, pages, ''),
    );
  }

  const neighbourReads = async (): Promise<number[]> => {
    const times: number[] = [];
    for (let i = 0; i < besideReads[size]; i++) {
      times.push((await read(world.neighbourKey, world.small, 'limit=50')).ms);
      await sleep(besideEveryMs);
    }
    return times;
  };
  const alone = await neighbourReads();
  figures.push(...percentiles("another app's reads", alone));
  const readBeside = async (name: string, message: string): Promise<void> => {
    let isOver = false;
    let costlyReads = 0;
    const costly = Array.from({ length: atOnce }, async () => {
      while (!isOver) {
        await read(world.serverKey, message, 'channel=webpush&error_code=unregistered');
        costlyReads++;
      }
    });
    const times = await neighbourReads();
    isOver = true;
    await Promise.all(costly);
    for (const share of [0.5, 0.99]) {
      const beside = { side: 'alone', value: percentile(alone, share) };
      const ms = percentile(times, share);
      figures.push(figure(`${name}: p${share * 100}`, ms, 'ms', { beside, atMost: besideMost }));
    }
    figures.push(figure(`${name}: costly reads`, costlyReads, ''));
  };
  await readBeside('its reads during filters that match nothing', world.great);
  await readBeside('its reads where kinds are not noted', world.unnoted);
  return {
    isTrial: devices < devicesUsual,
    params: { devices, rounds: rounds[size], at_once: atOnce },
    figures,
    foreignCores: await countOthers(),
    postgres,
  };
}

function questionsOf({ great, unnoted }: TimelineWorld) {
  const stranger = encodeId('dev', mintUuid());
  return [
    { name: "none, by the message's numbers", message: great, query: 'error_code=expired' },
    { name: "none, by the batches' kinds", message: great, query: 'channel=webpush&error_code=unregistered' },
    { name: 'one delivery of all', message: great, query: 'error_code=timeout' },
    { name: 'a device that has none', message: great, query: `device_id=${stranger}` },
    { name: 'first page, unfiltered', message: great, query: 'limit=50' },
    { name: 'none, kinds not noted (a page)', message: unnoted, query: 'channel=webpush&error_code=unregistered' },
  ];
}

/** Fills a database that no service runs on yet. */
async function fill(workbench: Workbench, dataDir: string, devices: number): Promise<TimelineWorld> {
  const database = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  workbench.onClose(() => database.stop());
  const sql = openPool({ url: database.url, connectionsMax: 1, name: 'carillon bench', statementTimeoutMs: 0 });
  try {
    await prepareDatabase(sql);
    const world = await makeTimelineWorld(sql, await createClock(sql), devices);
    return world;
  } finally {
    await sql.end({ timeout: 5 });
    await database.stop();
  }
}
