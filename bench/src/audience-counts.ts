// Measures how many devices a filter finds and how long the count takes, through the API and over
// JSONB. A count that the service refuses because it takes too long is recorded as a figure, too.

import type { Sql } from '@carillon/postgres';
import type { Service } from '../../rig/src/service.ts';
import { progress, RunError } from '../../rig/src/workbench.ts';
import type { Uuid } from '../../server/src/ground/values/ids.ts';
import { countOverJsonb, type MeasuredFilter } from './audience-filters.ts';
import { callForJson } from './call-api.ts';

interface CountedApp {
  readonly appId: Uuid;
  readonly serverKey: string;
}

interface Counted {
  /** Null: the service refused the count. */
  readonly count: number | null;
  readonly ms: number;
}

export interface Timed {
  readonly name: string;
  /** Null: the service refused the count each time. */
  readonly count: number | null;
  readonly ms: readonly number[];
}

/**
 * Counts through the API. A count of more than two seconds is answered with 503; the time until the
 * 503 is its figure.
 */
export async function preview(
  service: Service,
  { serverKey }: CountedApp,
  { name, filter }: MeasuredFilter,
): Promise<Counted> {
  const from = performance.now();
  try {
    const { count } = await callForJson<{ count: number }>({
      method: 'POST',
      url: `${service.url}/v1/segments/preview`,
      key: serverKey,
      body: { filter },
    });
    return { count, ms: performance.now() - from };
  } catch (error) {
    if (!(error instanceof RunError) || !error.message.includes(' answered 503')) throw error;
    progress(`'${name}' is refused: it takes too long`);
    return { count: null, ms: performance.now() - from };
  }
}

async function timeAll(
  filters: readonly MeasuredFilter[],
  runs: number,
  count: (filter: MeasuredFilter) => Promise<Counted>,
): Promise<Timed[]> {
  const timed: Timed[] = [];
  for (const filter of filters) {
    const first = await count(filter);
    const ms: number[] = [];
    let last = first;
    for (let i = 0; i < runs; i++) {
      const before = last;
      last = await count(filter);
      ms.push(last.ms);
      // A refused count takes the same time in each run, so two refusals are enough.
      if (before.count === null && last.count === null) break;
    }
    timed.push({ name: filter.name, count: last.count ?? first.count, ms });
  }
  return timed;
}

/** Runs each filter once to warm up, and then `runs` times with the clock. */
export function previewAll(
  service: Service,
  app: CountedApp,
  filters: readonly MeasuredFilter[],
  runs: number,
): Promise<Timed[]> {
  return timeAll(filters, runs, (filter) => preview(service, app, filter));
}

/** Measures the same filters over JSONB. */
export function countAllOverJsonb(
  sql: Sql,
  { appId }: CountedApp,
  filters: readonly MeasuredFilter[],
  runs: number,
): Promise<Timed[]> {
  return timeAll(filters, runs, async (filter) => {
    const from = performance.now();
    const count = await countOverJsonb(sql, appId, filter);
    return { count, ms: performance.now() - from };
  });
}
