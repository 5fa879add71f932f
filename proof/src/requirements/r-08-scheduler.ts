// R-08: a thousand messages are due at one instant, and the workers' clocks are wrong by a minute.
// Each message runs once, none early, hardly any late. This also holds when workers are killed
// while they start messages, and when no worker runs at that instant.
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom, type Random } from '../../../rig/src/random.ts';
import type { HistoryLine } from '../../../rig/src/sandbox-process.ts';
import type { ServiceNode } from '../../../rig/src/service-node.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';
import { type Api, Stage } from '../stage.ts';

const skewsMs = [-60_000, 0, 60_000];
const latenessMsMost = 2_000;
const afterOutageMsMost = 30_000;
const requestsAtOnce = 16;
const pollMs = 20;
const startedWithinMs = 120_000;
const quietWithinMs = 180_000;
/** A message can be scheduled 30 seconds ahead at the earliest, and storing them all takes time. */
const soonestMs = 40_000;

interface Crowd {
  readonly name: string;
  readonly count: number;
  readonly dueAt: Date;
}

interface Sizes {
  readonly count: number;
  readonly kills: number;
  readonly aheadMs: number;
  readonly apartMs: number;
  /** How long after their instant a worker comes back, in an outage. */
  readonly outageMs: number;
}

const sizesOf = (isQuick: boolean): Sizes =>
  isQuick
    ? { count: 60, kills: 3, aheadMs: 45_000, apartMs: 10_000, outageMs: 3_000 }
    : { count: 1_000, kills: 12, aheadMs: 90_000, apartMs: 45_000, outageMs: 65_000 };

/** Schedules `count` messages to one device each. */
async function schedule(stage: Stage, api: Api, { name, count, dueAt }: Crowd, ttl: number): Promise<void> {
  const left = Array.from({ length: count }, (_, index) => index);
  const work = async (): Promise<void> => {
    for (let index = left.pop(); index !== undefined; index = left.pop()) {
      const device = stage.devices[index % stage.devices.length];
      const content = { title: `${name} ${index}`, body: 'It is time.', ttl };
      const message = { audience: { device_ids: [device?.id] }, content, send_at: dueAt.toISOString() };
      const answer = await stage.send(api, `proof-r08-${name}-${index}`, message);
      if (answer?.status !== 200) throw new Error(`${content.title} was not scheduled: ${JSON.stringify(answer)}`);
    }
  };
  await Promise.all(Array.from({ length: requestsAtOnce }, work));
}

/**
 * Watches how long after their instant the messages left `scheduled`, by the database's clock;
 * sorted, in milliseconds. Returns when all have left, or after a time limit.
 */
async function watchStarts(stage: Stage, { name, count, dueAt }: Crowd): Promise<number[]> {
  const lateness: number[] = [];
  for (;;) {
    const [row] = await stage.database.sql<{ lateMs: number; begun: number }[]>`
      SELECT (extract(epoch FROM clock_timestamp() - ${dueAt}::timestamptz) * 1000)::float8 AS late_ms,
        count(*) FILTER (WHERE status <> 'scheduled')::int AS begun
      FROM messages WHERE title LIKE ${`${name} %`}`;
    const lateMs = row?.lateMs ?? 0;
    while (lateness.length < (row?.begun ?? 0)) lateness.push(lateMs);
    if (lateness.length >= count || lateMs > startedWithinMs) return lateness;
    await sleep(lateMs < -1_000 ? 200 : pollMs);
  }
}

/**
 * Kills working processes repeatedly from the instant on; their supervisors replace them. Returns
 * how many died.
 */
async function killWorkers(
  nodes: readonly ServiceNode[],
  random: Random,
  { count, dueAt }: Crowd,
  kills: number,
): Promise<number> {
  await sleep(Math.max(0, dueAt.getTime() - Date.now()));
  let died = 0;
  for (let kill = 0; kill < kills; kill++) {
    // Frequent enough to hit processes while they start messages.
    await sleep(random.below(Math.ceil(count / 5)));
    died += (await random.pick(nodes).signalWorker('SIGKILL')).pids.length;
  }
  return died;
}

/** Complaints about the stored rows of a crowd. */
async function complainOfRows(stage: Stage, { name, count }: Crowd, status: 'sent' | 'failed'): Promise<string[]> {
  const [rows] = await stage.database.sql<Record<'messages' | 'batches' | 'early' | 'other', number>[]>`
    SELECT count(*)::int AS messages, coalesce(sum(b.batches), 0)::int AS batches,
      count(*) FILTER (WHERE m.started_at < m.run_at)::int AS early,
      count(*) FILTER (WHERE m.status <> ${status})::int AS other
    FROM messages m CROSS JOIN LATERAL (SELECT count(*) AS batches FROM batches b WHERE b.message_id = m.id) b
    WHERE m.title LIKE ${`${name} %`}`;
  const { messages = 0, batches = 0, early = 0, other = 0 } = rows ?? {};
  const due = status === 'sent' ? count : 0;
  return [
    ...(messages === count ? [] : [`${messages} of ${count} messages are stored`]),
    ...(batches === due ? [] : [`they have ${batches} batches, not ${due}`]),
    ...(early === 0 ? [] : [`${early} started before their instant`]),
    ...(other === 0 ? [] : [`${other} are not ${status}`]),
  ];
}

/** Ends the sandbox. Returns when the pushes of each title arrived. */
async function readPushes({ sandbox }: Stage): Promise<ReadonlyMap<string, readonly number[]>> {
  await sandbox.stop();
  const pushes = new Map<string, number[]>();
  for (const line of (await readFile(sandbox.historyFile, 'utf8')).trimEnd().split('\n')) {
    if (line === '') continue;
    const [, at, , , , , title] = JSON.parse(line) as HistoryLine;
    const known = pushes.get(title);
    if (known) known.push(at);
    else pushes.set(title, [at]);
  }
  return pushes;
}

/**
 * Complaints about a crowd's pushes. `most` is the most pushes that one message may have: each kill
 * of its sender allows one more.
 */
function complainOfPushes(
  { name, count, dueAt }: Crowd,
  pushes: ReadonlyMap<string, readonly number[]>,
  most: number,
): string[] {
  const complaints: string[] = [];
  for (let index = 0; index < count; index++) {
    const came = pushes.get(`${name} ${index}`) ?? [];
    if (came.length > most || (came.length === 0 && most > 0))
      complaints.push(`${name} ${index}: ${came.length} pushes`);
    const aheadMs = dueAt.getTime() - Math.min(...came);
    if (aheadMs > 0) complaints.push(`${name} ${index}: a push came ${aheadMs} ms before its instant`);
  }
  return complaints;
}

/** Resolves when all messages of a crowd have ended, or after a time limit. */
async function untilEnded(stage: Stage, { name }: Crowd): Promise<void> {
  const deadline = performance.now() + quietWithinMs;
  while (performance.now() < deadline) {
    const open = await stage.database.sql`
      SELECT 1 FROM messages WHERE title LIKE ${`${name} %`} AND status IN ('scheduled', 'sending') LIMIT 1`;
    if (open.length === 0) return;
    await sleep(200);
  }
}

const afterNow = (ms: number): Date => new Date(Math.ceil((Date.now() + ms) / 1_000) * 1_000);

async function run({ isQuick, seed, report, workbench }: ProofOptions): Promise<void> {
  const { count, kills, aheadMs, apartMs, outageMs } = sizesOf(isQuick);
  const stage = await Stage.set({ workbench, purpose: 'scheduler', devices: 50, seed });
  const api = await stage.startApi({ skewMs: 60_000 });
  const nodes = await Promise.all(skewsMs.map((skewMs) => stage.startWorker({ skewMs })));
  const calm = { name: 'Calm', count, dueAt: afterNow(aheadMs) };
  const killed = { name: 'Killed', count, dueAt: afterNow(aheadMs + apartMs) };
  for (const crowd of [calm, killed]) await schedule(stage, api, crowd, 3_600);

  report.progress(`  ${count} messages are scheduled for one instant, and as many for a later one`);
  const lateness = await watchStarts(stage, calm);
  const share = (part: number): number => Math.round(lateness[Math.ceil(count * part) - 1] ?? Number.POSITIVE_INFINITY);
  report.claim(
    `due at one instant, they start within ${latenessMsMost / 1_000} s (p99), by workers whose clocks are wrong by a minute`,
    `${lateness.length} messages; p50 ${share(0.5)} ms, p99 ${share(0.99)} ms, last ${share(1)} ms`,
    share(0.99) <= latenessMsMost ? [] : [`p99 is ${share(0.99)} ms`],
  );
  const [underKills, died] = await Promise.all([
    watchStarts(stage, killed),
    killWorkers(nodes, createRandom(seed), killed, kills),
  ]);
  for (const crowd of [calm, killed]) await untilEnded(stage, crowd);

  report.progress('  Nobody is there when the next are due');
  const dueAt = afterNow(soonestMs);
  const missed = { name: 'Missed', count: Math.ceil(count / 10), dueAt };
  // The window of these messages ends a minute after their instant.
  const expired = { name: 'Expired', count: isQuick ? 0 : missed.count, dueAt };
  await schedule(stage, api, missed, 3_600);
  await schedule(stage, api, expired, 0);
  await Promise.all(nodes.map((node) => node.kill()));
  await sleep(Math.max(0, dueAt.getTime() + outageMs - Date.now()));
  await stage.startWorker();
  const backMs = Date.now() - dueAt.getTime();
  const afterMs = ((await watchStarts(stage, missed)).at(-1) ?? Number.POSITIVE_INFINITY) - backMs;
  const isQuiet = await stage.isQuiet(quietWithinMs);
  const pushes = await readPushes(stage);

  report.claim('each of them runs once, and none early', `${count} messages`, [
    ...(await complainOfRows(stage, calm, 'sent')),
    ...complainOfPushes(calm, pushes, 1),
  ]);
  report.claim(
    'so do those whose workers are killed while they start them',
    `${count} messages, ${died} kills; the last started ${Math.round(underKills.at(-1) ?? 0)} ms after its instant`,
    [
      ...(await complainOfRows(stage, killed, 'sent')),
      ...complainOfPushes(killed, pushes, 1 + died),
      ...(died > 0 ? [] : ['nobody was killed']),
    ],
  );
  report.claim(
    `what fell due while nobody was there starts within ${afterOutageMsMost / 1_000} s of the first that comes`,
    `${missed.count} messages, ${Math.round(backMs / 1_000)} s late; the last started ${Math.round(afterMs)} ms after it was ready`,
    [
      ...(await complainOfRows(stage, missed, 'sent')),
      ...complainOfPushes(missed, pushes, 1),
      ...(afterMs <= afterOutageMsMost ? [] : [`it took ${afterMs} ms`]),
    ],
  );
  if (expired.count > 0) {
    report.claim('unless its window has passed: then it is expired, and no push is made', `${expired.count} messages`, [
      ...(await complainOfRows(stage, expired, 'failed')),
      ...complainOfPushes(expired, pushes, 0),
    ]);
  }
  const charged = await stage.charged();
  const due = 2 * count + missed.count;
  report.claim('what ran was charged, once', `${charged} deliveries`, [
    ...(charged === due ? [] : [`${due} were due`]),
    ...(isQuiet ? [] : ['messages are still under way']),
  ]);
}

export const requirement: Requirement = {
  number: 'R-08',
  title: 'The scheduler',
  leftOut: 'waits for instants that lie 45 seconds ahead, on a quiet machine',
  run,
};
