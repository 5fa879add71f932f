// Judges what providers and a webhook's receiver saw around each step, by real time.
import type { MessageState } from '../../../rig/src/running-service.ts';
import { comesTrue } from '../../../rig/src/webhook-nodes.ts';
import type { Report } from '../report.ts';
import type { Step } from './steps.ts';
import type { Kind, Refused, Sent, Tried, World } from './world.ts';

const goesOnWithinMs = 10_000;
/** Milliseconds before which a database's clock that was set forward is not believed. */
const doubtedMs = 4_000;
/**
 * Milliseconds. A process may fall asleep between its decision to send and the write. When it
 * wakes, it ends the turn of its event loop. R-100 requires a comparison several times a second, so
 * this takes no longer.
 */
const onTheWireMs = 250;
/**
 * the longest wait without a look. Within it a corrected clock of the database is noticed.
 */
const heardWithinMs = 1_000;
/** outcomes of this time may be lost with the process, and their pushes repeated. */
const unwrittenMs = 500;
const deadlineMs = 120_000;

/** The messages of the worker that slept alone, and the time of its sleep. */
export interface Sleeper {
  readonly devices: number;
  readonly title: string;
  /** The ends of this message and of the next one, which the worker sent alone after its sleep. */
  readonly ends: readonly MessageState[];
  /** The sleep began between these instants. */
  readonly fromMs: number;
  readonly asleepMs: number;
  readonly awakeMs: number;
}

interface Push {
  readonly token: string;
  readonly atMs: number;
  readonly status: number;
  readonly title: string;
}

export async function judge(
  world: World,
  tried: readonly Tried[],
  sleeper: Sleeper | undefined,
  report: Report,
): Promise<void> {
  const messages = tried.flatMap(({ sent }) => Object.values(sent));
  const states = new Map<Sent, MessageState>();
  for (const message of messages) {
    await comesTrue(async () => {
      const state = await world.service.messageOf(world.app, message.id);
      states.set(message, state);
      return !['scheduled', 'sending'].includes(state.status);
    }, deadlineMs);
  }
  await judgeWebhook(world, tried, messages.length * world.app.devices, report);
  const pushes: Push[] = [];
  await world.service.readHistory(([token, atMs, status, , , , title]) => {
    pushes.push({ token, atMs, status, title });
  });
  judgeSteps(world, tried, states, pushes, report);
  judgePushes(tried, sleeper, pushes, report);
  if (sleeper) judgeSleeper(sleeper, pushes, report);
}

async function judgeWebhook(world: World, tried: readonly Tried[], events: number, report: Report): Promise<void> {
  const { refused, told } = world.webhook;
  await comesTrue(() => told.size === events, deadlineMs);
  report.claim(
    'every event arrives in the end',
    `${told.size} of ${events}`,
    told.size === events ? [] : ['some are missing'],
  );
  const wrong = refused.filter((request) => !tried.some((one) => mayBeLate(one, request)));
  report.claim(
    'no webhook request is signed by a wrong time, but by that of a database which rules',
    `${refused.length} refused by its receiver`,
    wrong.map(({ atMs, reason }) => `${reason}, ${placeOf(tried, atMs)}`),
  );
  report.claim('no credential and no webhook is blamed', `looked at after ${tried.length} steps`, [
    ...tried.flatMap(({ blamed }) => blamed),
    ...(await world.listBlamed()),
  ]);
}

/**
 * Whether a request was signed by the database's clock while this clock ruled, or was on the wire
 * during a sleep. A signature contains the second by the clock that signed it.
 */
function mayBeLate({ step, fromMs, rightMs }: Tried, { atMs, signedMs }: Refused): boolean {
  if (step.kind === 'sleep') return atMs >= fromMs && signedMs <= fromMs - step.byMs;
  const [believedMs, realMs] = [believedMsOf(step, fromMs), signedMs - step.byMs];
  const isSignedThen = realMs > believedMs - 1_000 && realMs <= rightMs + heardWithinMs;
  return step.kind === 'database' && atMs >= believedMs && isSignedThen;
}

function judgeSteps(
  world: World,
  tried: readonly Tried[],
  states: ReadonlyMap<Sent, MessageState>,
  pushes: readonly Push[],
  report: Report,
): void {
  for (const one of tried) {
    const titles = (['during', 'short', 'paced'] as const).map((kind) => one.sent[kind].title);
    const own = pushes.filter(({ title }) => titles.includes(title));
    const later = own.filter(({ atMs }) => atMs >= one.fromMs).length;
    const kinds = Object.keys(one.sent) as Kind[];
    report.claim(
      `${one.step.name}: everything is sent, and sends go on within ${goesOnWithinMs / 1000} s`,
      `the next push after ${Math.round(one.wentOnMs)} ms; ${own.length - later} pushes before, ${later} after`,
      [
        ...kinds.flatMap((kind) => complaintsOf(world, one, kind, states.get(one.sent[kind]))),
        ...(one.wentOnMs > goesOnWithinMs ? ['sends went on too late'] : []),
        ...(later === 0 ? ['nothing was left to send at the step'] : []),
      ],
    );
  }
}

/** A message that did not end as it must. */
function complaintsOf(
  { app: { devices }, refused }: World,
  { step, sent }: Tried,
  kind: Kind,
  state: MessageState | undefined,
): string[] {
  const { status, report = {}, error_counts: codes = {} } = state ?? {};
  // After a sleep, and by a ruling clock of the database, the time to live of a minute is over.
  // After two hours the time for retries is over too (contract 7.5).
  const isLater = step.byMs > 0 && step.kind !== 'host' && kind !== 'after' && kind !== 'scheduled';
  const expired = isLater && kind === 'short' ? (codes['expired'] ?? 0) : 0;
  const untried =
    isLater && step.byMs > 3_600_000 ? (codes['rate_limited'] ?? 0) + (codes['provider_unavailable'] ?? 0) : 0;
  const accepted = report['sent'] ?? 0;
  const isWhole = accepted + expired + untried === devices && untried <= refused;
  if (isWhole && status === (accepted > 0 ? 'sent' : 'failed')) return [];
  return [`${sent[kind].title} is ${status}: ${JSON.stringify({ report, codes })}`];
}

function judgePushes(
  tried: readonly Tried[],
  sleeper: Sleeper | undefined,
  pushes: readonly Push[],
  report: Report,
): void {
  const steps = new Map(tried.flatMap((one) => Object.values(one.sent).map(({ title }) => [title, one] as const)));
  const claim = (what: string, isWrong: (push: Push, one: Tried | undefined) => boolean): void => {
    const wrong = pushes.filter((push) => isWrong(push, steps.get(push.title)));
    const written = wrong.filter(({ atMs }) => isOnTheWire(tried, atMs)).length;
    report.claim(
      what,
      `${pushes.length} pushes; ${written} were decided before a sleep and written after it`,
      wrong
        .filter(({ atMs }) => !isOnTheWire(tried, atMs))
        .map(({ title, status, atMs }) => `${title}: ${status}, ${placeOf(tried, atMs)}`),
    );
  };
  claim('no token is signed by a wrong time', ({ status }) => status === 401 || status === 403);
  claim(
    'nothing expired is sent, but by a database that rules',
    ({ title, atMs }, one) => one?.sent.short.title === title && atMs > one.shortUntilMs && !isRuled(tried, atMs),
  );

  const early = tried.flatMap(({ sent: { scheduled }, dueMs }) => {
    const first = pushes.find(({ title }) => title === scheduled.title);
    return first && first.atMs < dueMs && !isRuled(tried, first.atMs)
      ? [`${scheduled.title}, ${placeOf(tried, first.atMs)}`]
      : [];
  });
  report.claim('nothing begins before it is due, but by a database that rules', `${tried.length} messages`, early);

  const counts = new Map<string, number>();
  const isUnwritten = ({ title, atMs }: Push): boolean =>
    title === sleeper?.title && atMs < sleeper.asleepMs && atMs > sleeper.fromMs - unwrittenMs;
  for (const push of pushes) {
    const { token, status, title } = push;
    if (status < 200 || status >= 300 || isUnwritten(push)) continue;
    counts.set(`${title} ${token}`, (counts.get(`${title} ${token}`) ?? 0) + 1);
  }
  const twice = [...counts].filter(([, count]) => count > 1).map(([push, count]) => `${push}: ${count} times`);
  report.claim('nobody is rung twice', `${counts.size} pushes accepted`, twice);
}

function judgeSleeper(
  { devices, title: own, ends, asleepMs, awakeMs }: Sleeper,
  all: readonly Push[],
  report: Report,
): void {
  const pushes = all.filter(({ title }) => title === own);
  const before = pushes.filter(({ atMs }) => atMs < asleepMs).length;
  const after = pushes.filter(({ atMs }) => atMs >= awakeMs).length;
  const meanwhile = pushes.length - before - after;
  report.claim(
    'a worker that slept past its lease pushes nothing of what another finished (R-04)',
    `${devices} devices: ${before} pushes before the sleep, ${meanwhile} by the other, ${after} by the sleeper`,
    [
      ...ends.filter((end) => end.report['sent'] !== devices).map((end) => JSON.stringify(end)),
      ...(before === 0 || meanwhile === 0 ? ['the worker did not sleep in the middle'] : []),
      ...(after > 0 ? ['the sleeper sent'] : []),
    ],
  );
}

const isOnTheWire = (tried: readonly Tried[], atMs: number): boolean =>
  tried.some(({ step, toMs }) => step.kind === 'sleep' && atMs >= toMs && atMs <= toMs + onTheWireMs);

/** After the doubt the clock of a database rules, although it is wrong. */
const isRuled = (tried: readonly Tried[], atMs: number): boolean =>
  tried.some(({ step, fromMs, rightMs }) => {
    return step.kind === 'database' && atMs >= believedMsOf(step, fromMs) && atMs <= rightMs + heardWithinMs;
  });

const believedMsOf = ({ byMs }: Step, fromMs: number): number => fromMs + (byMs > 0 ? doubtedMs : 0);

function placeOf(tried: readonly Tried[], atMs: number): string {
  const last = tried.findLast(({ toMs }) => toMs <= atMs);
  return last ? `${Math.round(atMs - last.toMs)} ms after: ${last.step.name}` : 'before any step';
}
