// The checker of a chaos run, a program of its own. It reads the files of a run and says whether
// the specification was kept (R-01 to R-04). `node --import tsx proof/src/chaos/check-history.ts
// DIRECTORY` prints its verdict. Memory grows with the devices and not with their messages, because
// pairs are judged in shares, with one pass over the files each.
import { fileURLToPath } from 'node:url';
import type { HistoryLine } from '../../../rig/src/sandbox-process.ts';
import {
  type AudienceLine,
  type ClaimLine,
  type DeliveryLine,
  type DeviceLine,
  type EventLine,
  fileNames,
  type MessageLine,
  type OutboxLine,
  type RunFacts,
  readLines,
  type WaitLine,
} from './history-files.ts';
import {
  ConnectionUse,
  deathOfSender,
  judgePair,
  judgeRecovery,
  judgeTold,
  judgeTotals,
  type Pair,
  type Request,
  type RuleContext,
} from './rules.ts';
import { describeWaits } from './waits.ts';

export interface Verdict {
  readonly kills: number;
  readonly stops: number;
  readonly devices: number;
  readonly messages: number;
  readonly deliveries: number;
  readonly requests: number;
  readonly lost: number;
  readonly duplicates: number;
  readonly duplicates_unexplained: number;
  /** The longest time from a push that was repeated to the death of its sender. */
  readonly duplicate_window_ms_max: number;
  /**
   * Deliveries on a machine without time to read answers as they arrive. Their pushes are repeated.
   */
  readonly deliveries_timed_out: number;
  readonly max_requests_per_device: number;
  readonly recovery_seconds_max: number;
  readonly totals_agree: boolean;
  /** Sentences that each describe one violation; only the first are listed. */
  readonly violations: readonly string[];
  readonly violations_in_all: number;
  /**
   * The waits of the database's connections while outcomes were late without another explanation.
   */
  readonly waits: readonly string[];
}

const violationsMax = 50;
const requestsPerShare = 250_000;

/** The facts of a run that are read before its pairs. */
interface Run {
  readonly directory: string;
  readonly deviceOfToken: ReadonlyMap<string, number>;
  readonly deviceOfId: ReadonlyMap<string, number>;
  /** Message numbers by title and by id. */
  readonly messageOf: ReadonlyMap<string, number>;
  readonly titles: readonly string[];
  /** Number of requested devices, by title. */
  readonly asked: ReadonlyMap<string, number>;
  readonly gone: ReadonlySet<number>;
  readonly msToDeath: RuleContext['msToDeath'];
  readonly requests: number;
}

export async function checkHistory(directory: string): Promise<Verdict> {
  const events = await collect<EventLine>(directory, fileNames.events);
  const messages = await collect<MessageLine>(directory, fileNames.messages);
  const [facts] = await collect<RunFacts>(directory, fileNames.facts);
  if (!facts) throw new Error('the run has no facts');
  const violations: string[] = [];
  const run = await readRun(directory, events, violations);

  const totals = { lost: 0, duplicates: 0, unexplained: 0, requestsMost: 0, windowMsMost: 0, deliveries: 0 };
  const untold: string[] = [];
  const spans: { readonly from: number; readonly to: number }[] = [];
  const context = { windowMs: facts.windowMs, msToDeath: run.msToDeath };
  const rows = new Map<string, { sent: number; failed: number; skipped: number }>();
  const shares = Math.max(1, Math.ceil(run.requests / requestsPerShare));
  for (let share = 0; share < shares; share++) {
    for (const pair of await readPairs(run, share, shares, rows, violations)) {
      const verdict = judgePair(pair, context);
      if (verdict.isLost) totals.lost++;
      totals.duplicates += verdict.duplicates;
      totals.unexplained += verdict.unexplained;
      totals.requestsMost = Math.max(totals.requestsMost, pair.requests.length);
      totals.windowMsMost = Math.max(totals.windowMsMost, verdict.windowMsMost);
      totals.deliveries += pair.deliveries.length;
      violations.push(...verdict.violations);
      spans.push(...verdict.spans);
      untold.push(...judgeTold(pair));
    }
  }
  const disagreements = [...judgeTotals(facts, messages, rows, run.asked), ...untold];
  const recovery = judgeRecovery(events, await collect<ClaimLine>(directory, fileNames.claims));
  violations.push(...disagreements, ...recovery.violations);
  const waits = spans.length === 0 ? [] : await collect<WaitLine>(directory, fileNames.waits);
  return {
    kills: events.filter(({ kind }) => kind === 'kill').length,
    stops: events.filter(({ kind }) => kind === 'stop').length,
    devices: run.deviceOfId.size,
    messages: messages.length,
    deliveries: totals.deliveries,
    requests: run.requests,
    lost: totals.lost,
    duplicates: totals.duplicates,
    duplicates_unexplained: totals.unexplained,
    duplicate_window_ms_max: totals.windowMsMost,
    deliveries_timed_out: facts.timedOut,
    max_requests_per_device: totals.requestsMost,
    recovery_seconds_max: Math.round(recovery.maxMs / 100) / 10,
    totals_agree: disagreements.length === 0,
    waits: [...beforeEachEnd(spans)].slice(0, violationsMax).map(([to, from]) => {
      return `from ${from} to ${to} ${describeWaits(waits, from, to)}`;
    }),
    violations: violations.slice(0, violationsMax),
    violations_in_all: violations.length,
  };
}

/**
 * Maps the end of each span to the earliest beginning. One death cuts many pushes short and is
 * explained once.
 */
function beforeEachEnd(spans: readonly { readonly from: number; readonly to: number }[]): Map<number, number> {
  const first = new Map<number, number>();
  for (const { from, to } of spans) first.set(to, Math.min(from, first.get(to) ?? from));
  return first;
}

async function collect<Line>(directory: string, name: string): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const line of readLines<Line>(directory, name)) lines.push(line);
  return lines;
}

async function readRun(directory: string, events: readonly EventLine[], violations: string[]): Promise<Run> {
  const deviceOfToken = new Map<string, number>();
  const deviceOfId = new Map<string, number>();
  for await (const [id, token] of readLines<DeviceLine>(directory, fileNames.devices)) {
    deviceOfToken.set(token, deviceOfId.size);
    deviceOfId.set(id, deviceOfId.size);
  }
  const messageOf = new Map<string, number>();
  const titles: string[] = [];
  const asked = new Map<string, number>();
  for await (const { id, title, devices } of readLines<AudienceLine>(directory, fileNames.audiences)) {
    if (messageOf.has(id)) violations.push(`${title} was answered with the message of another request`);
    messageOf.set(title, titles.length);
    messageOf.set(id, titles.length);
    titles.push(title);
    asked.set(title, devices.length);
  }

  const gone = new Set<number>();
  const used = new ConnectionUse();
  let requests = 0;
  for await (const line of readLines<HistoryLine>(directory, fileNames.history)) {
    const [token, at, status, , , , title, connectionId] = line;
    requests++;
    const device = deviceOfToken.get(token);
    if (device === undefined) violations.push(`a push to a token that nobody has: ${token}`);
    else if (status === 404 || status === 410) gone.add(device);
    if (!messageOf.has(title)) violations.push(`a push that belongs to no message: '${title}' at ${at}`);
    used.note(connectionId, at);
  }
  const msToDeath = deathOfSender(events, (...span) => used.wasUsed(...span));
  return { directory, deviceOfToken, deviceOfId, messageOf, titles, asked, gone, msToDeath, requests };
}

interface OpenPair {
  readonly requests: Request[];
  readonly deliveries: DeliveryLine[];
  readonly told: string[];
  isAskedFor: boolean;
}

/**
 * Reads the pairs whose devices belong to one share. Counts their deliveries into `rows`, by
 * message id.
 */
async function readPairs(
  run: Run,
  share: number,
  shares: number,
  rows: Map<string, { sent: number; failed: number; skipped: number }>,
  violations: string[],
): Promise<Pair[]> {
  const { directory, deviceOfToken, deviceOfId, messageOf, titles, gone } = run;
  const pairs = new Map<string, OpenPair>();
  const open = (device: number | undefined, message: number | undefined): OpenPair | undefined => {
    if (device === undefined || message === undefined || device % shares !== share) return undefined;
    const key = `${message} ${device}`;
    const pair = pairs.get(key) ?? { requests: [], deliveries: [], told: [], isAskedFor: false };
    pairs.set(key, pair);
    return pair;
  };
  for await (const { title, devices } of readLines<AudienceLine>(directory, fileNames.audiences)) {
    for (const id of devices) {
      const pair = open(deviceOfId.get(id), messageOf.get(title));
      if (pair) pair.isAskedFor = true;
    }
  }
  for await (const line of readLines<HistoryLine>(directory, fileNames.history)) {
    const [token, at, status, topic, apnsId, tag, title, connectionId, , answeredAt] = line;
    const identity = [topic, apnsId, tag].join(' ');
    open(deviceOfToken.get(token), messageOf.get(title))?.requests.push({
      at,
      answeredAt,
      status,
      identity,
      connectionId,
    });
  }
  for await (const delivery of readLines<DeliveryLine>(directory, fileNames.deliveries)) {
    const [message, device, status] = delivery;
    const pair = open(deviceOfId.get(device), messageOf.get(message));
    if (!pair) continue;
    pair.deliveries.push(delivery);
    const counts = rows.get(message) ?? { sent: 0, failed: 0, skipped: 0 };
    if (status === 'sent' || status === 'failed' || status === 'skipped') counts[status]++;
    rows.set(message, counts);
  }

  for await (const [message, device, event] of readLines<OutboxLine>(directory, fileNames.outbox)) {
    open(deviceOfId.get(device), messageOf.get(message))?.told.push(event);
  }

  const found: Pair[] = [];
  for (const [key, { requests, deliveries, told, isAskedFor }] of pairs) {
    const [message, device] = key.split(' ').map(Number) as [number, number];
    const name = `'${titles[message]}' for device ${device}`;
    const isGone = gone.has(device);
    if (!isAskedFor) violations.push(`${name} was never asked for`);
    // A device that is gone belongs to no audience any more.
    if (isGone && requests.length + deliveries.length === 0) continue;
    found.push({ name, requests: requests.sort((a, b) => a.at - b.at), deliveries, told, isGone });
  }
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , directory = '.'] = process.argv;
  process.stdout.write(`${JSON.stringify(await checkHistory(directory))}\n`);
}
