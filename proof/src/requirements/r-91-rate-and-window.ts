// a message may have a rate, which its requests keep over all workers, retries included. It
// may have a window, after which nothing of it is sent.
import { setTimeout as sleep } from 'node:timers/promises';
import { addDevices, type MixedApp } from '../../../rig/src/mixed-app.ts';
import { type RunningService, startRunningService } from '../../../rig/src/running-service.ts';
import type { HistoryLine } from '../../../rig/src/sandbox-process.ts';
import { decodeId } from '../../../server/src/ground/values/ids.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

interface Rate {
  readonly perSecond: number;
  readonly seconds: number;
  readonly title: string;
}

/**
 * Requests that a second may begin above the rate, because they are a little late
 * (`pace.ts`).
 */
const lateMost = (perSecond: number): number => Math.max(1, Math.floor(perSecond * 0.02));
/**
 * Requests that may arrive at the provider above the rate in one second, because a busy machine
 * bunches them.
 */
const bunchedMost = (perSecond: number): number => Math.ceil(perSecond * 0.2) + 5;
/** A busy machine misses some of the tokens, so the reached rate may be this share of the limit. */
const shareLeast = 0.5;
const workers = 2;

const ratesOf = (isQuick: boolean): readonly Rate[] =>
  [1, 10, 100, ...(isQuick ? [] : [1_000])].map((perSecond) => ({
    perSecond,
    seconds: perSecond === 1 ? 60 : isQuick ? 8 : 60,
    title: `Rate ${perSecond}`,
  }));

/** Digits between letters, so that no prefix begins another. */
const prefixOf = (perSecond: number): string => `retried${perSecond}at`;

async function newAppOf(
  service: RunningService,
  name: string,
  devices: number,
  seed: string,
  tokenPrefix = 'calm',
): Promise<MixedApp> {
  const app = await service.newApp(name);
  const plan = { count: devices, platform: 'web' as const, seed, tokenPrefix };
  await addDevices(service.database.sql, app, service.sandbox, plan, () => undefined);
  return app;
}

/**
 * When each request of a message began, by the clock of its process, in milliseconds since the
 * epoch.
 */
async function listBegun({ database: { sql } }: RunningService, app: MixedApp): Promise<number[]> {
  const rows = await sql<{ atMs: number }[]>`
    SELECT (extract(epoch FROM coalesce((t.attempt ->> 'at')::timestamptz, d.done_at - d.latency_ms * interval '1 millisecond'))
      * 1000)::float8 AS at_ms
    FROM batches b JOIN deliveries d ON d.batch_id = b.id
    LEFT JOIN LATERAL json_array_elements(d.timeline) AS t (attempt) ON true
    WHERE b.app_id = ${decodeId('app', app.id) ?? ''}
      AND (t.attempt IS NOT NULL OR d.latency_ms IS NOT NULL) ORDER BY at_ms`;
  return rows.map(({ atMs }) => atMs);
}

/** The number of instants in the fullest second. */
function fullestSecond(instants: readonly number[]): number {
  const inOrder = [...instants].sort((a, b) => a - b);
  let most = 0;
  let next = 0;
  inOrder.forEach((at, first) => {
    while (next < inOrder.length && (inOrder[next] ?? 0) < at + 1_000) next++;
    most = Math.max(most, next - first);
  });
  return most;
}

interface Counted {
  readonly rate: Rate;
  readonly devices: number;
  readonly begun: readonly number[];
  readonly arrived: readonly number[];
}

function claimRate({ report }: ProofOptions, { rate: { perSecond }, devices, begun, arrived }: Counted): void {
  const most = fullestSecond(begun);
  const [first = 0] = begun;
  const spanSeconds = ((begun.at(-1) ?? 0) - first) / 1_000;
  // The last requests are retries, which wait for their time.
  const nearlyAll = Math.floor(begun.length * 0.9);
  const reached = nearlyAll / (((begun[nearlyAll] ?? 0) - first) / 1_000);
  const mostArrived = fullestSecond(arrived);
  const complaints: string[] = [];
  if (most > perSecond + lateMost(perSecond)) complaints.push(`${most} requests were begun in one second`);
  if (mostArrived > perSecond + bunchedMost(perSecond)) complaints.push(`${mostArrived} came to the provider in one`);
  if (begun.length <= devices || arrived.length !== begun.length)
    complaints.push(`${begun.length} requests on record, ${arrived.length} at the provider, for ${devices} devices`);
  if (!(reached >= perSecond * shareLeast)) complaints.push(`only ${reached.toFixed(1)} a second were made`);
  report.claim(
    `at per_second ${perSecond} no second begins more, but for ${lateMost(perSecond)} that come late; retries count`,
    `${begun.length} requests in ${spanSeconds.toFixed(1)} s, ${reached.toFixed(1)} a second; fullest second ${most}, at the provider ${mostArrived}`,
    complaints,
  );
}

export const requirement: Requirement = {
  number: 'R-91',
  title: 'a message keeps its rate over all workers, and ends with its window; one with a rate delays no other',
  leftOut: 'sends once a second for a minute, on a quiet machine',
  async run(options) {
    const { isQuick, seed, report } = options;
    const service = await startRunningService(options.workbench, workers);
    const rates = ratesOf(isQuick);
    // Some pushes fail at first, because retries must keep the rate, too: one in twenty, or about
    // twenty where there are few devices.
    await service.sandbox.setFaults(
      rates.map(({ perSecond, seconds }) => ({
        match: {
          token_prefix: prefixOf(perSecond),
          share: Math.max(0.05, 20 / (perSecond * seconds)),
          count: 'token',
          nth: 1,
        },
        action: { type: 'status', status: 503 },
      })),
    );

    const running = await Promise.all(
      rates.map(async (rate, index) => {
        const devices = rate.perSecond * rate.seconds;
        const app = await newAppOf(service, rate.title, devices, `rate ${seed} ${index}`, prefixOf(rate.perSecond));
        return { rate, devices, app };
      }),
    );
    const quick = await newAppOf(service, 'Unpaced', 500, `unpaced ${seed}`);
    const late = await newAppOf(service, 'Late', 300, `late ${seed}`);
    report.progress(`  ${rates.length} messages with a rate at once, on ${workers} workers`);
    const messages = await Promise.all(
      running.map(async ({ rate, app }) => ({
        app,
        id: await service.send(app, {
          audience: { all: true },
          content: { title: rate.title, ttl: 3_600 },
          per_second: rate.perSecond,
        }),
      })),
    );
    await sleep(2_000);
    const askedAt = Date.now();
    await service.untilFinal(quick, await service.send(quick, { audience: { all: true }, content: { title: 'Now' } }));
    const unpacedMs = Date.now() - askedAt;

    // Five a second for a minute allow 300. The message starts as if half of the minute had passed
    // in an outage.
    const id = await service.send(late, {
      audience: { all: true },
      content: { title: 'Late', ttl: 60 },
      per_second: 5,
    });
    await service.database.sql`
      UPDATE batches SET due_at = due_at - interval '45 seconds', expires_at = expires_at - interval '45 seconds'
      WHERE app_id = (SELECT app_id FROM batches WHERE per_second = 5 LIMIT 1) AND per_second = 5`;
    const ended = await service.untilFinal(late, id);
    for (const { app, id: each } of messages) await service.untilFinal(app, each);

    const arrivals = new Map<string, number[]>();
    await service.readHistory(([, at, , , , , title]: HistoryLine) => {
      const known = arrivals.get(title);
      if (known) known.push(at);
      else arrivals.set(title, [at]);
    });
    for (const { rate, devices, app } of running) {
      const begun = await listBegun(service, app);
      claimRate(options, { rate, devices, begun, arrived: arrivals.get(rate.title) ?? [] });
    }
    report.claim(
      'a message to 500 without a rate does not wait for those with one',
      `${unpacedMs} ms from the request to its last outcome`,
      unpacedMs <= 15_000 ? [] : [`it took ${unpacedMs} ms`],
    );
    const { sent = 0, failed = 0 } = ended.report;
    const lateness = Math.max(...(arrivals.get('Late') ?? [0])) - Date.parse(ended.started_at ?? '');
    report.claim(
      'what its window leaves of a message is expired and not sent',
      `${sent} sent, ${ended.error_counts['expired'] ?? 0} expired; last request ${(lateness / 1_000).toFixed(1)} s after its start`,
      [
        ...(sent > 0 && failed > 0 && failed === ended.error_counts['expired'] ? [] : [JSON.stringify(ended)]),
        ...(lateness <= 16_000 ? [] : ['a request came after the window']),
      ],
    );
  },
};
