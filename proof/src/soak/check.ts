// Compares what the providers saw with what the service says: reads the sandbox's history and the
// stored deliveries once each.
import { basename, dirname } from 'node:path';
import type { Sql } from '@carillon/postgres';
import type { MadeDevice } from '../../../rig/src/mixed-app.ts';
import { readInPortions } from '../../../rig/src/portions.ts';
import type { HistoryLine } from '../../../rig/src/sandbox-process.ts';
import { encodeId, type Uuid } from '../../../server/src/ground/values/ids.ts';
import { codeOfNumber, statusOfNumber } from '../../../server/src/sending/delivery/delivery.ts';
import { readLines } from '../chaos/history-files.ts';
import { judge, type Outcome, type Push } from './rules.ts';
import { deadPrefix, kinds } from './script.ts';

export interface SoakFacts {
  readonly pushes: number;
  readonly accepted: number;
  readonly deliveries: number;
  readonly connections: number;
  /** Pushes that were disturbed by a rule of each kind. */
  readonly faults: Readonly<Record<keyof typeof kinds, number>>;
  /** Attempts that no provider read because their connection was cut. */
  readonly attemptsUnseen: number;
  /**
   * Deliveries with a push that a GOAWAY left untouched, and how many of them still count an
   * attempt for it.
   */
  readonly untouched: number;
  readonly untouchedCounted: number;
  /** Complaints, one sentence each. */
  readonly strangers: readonly string[];
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly astray: readonly string[];
}

export interface SoakHistory {
  readonly sql: Sql;
  readonly historyFile: string;
  readonly devices: readonly MadeDevice[];
  /** The title of each message by id; every push shows the title. */
  readonly messages: ReadonlyMap<string, string>;
}

export async function checkSoak({ sql, historyFile, devices, messages }: SoakHistory): Promise<SoakFacts> {
  const deviceOf = new Map(devices.map(({ token, id }) => [token, id]));
  const titles = new Set(messages.values());
  const faults = { dead: 0, busy: 0, cut: 0, goodbye: 0 };
  const pushes = new Map<string, Push[]>();
  const cutAt = new Map<number, number>();
  const connections = new Set<number>();
  const strangers: string[] = [];
  let count = 0;
  let accepted = 0;
  for await (const line of readLines<HistoryLine>(dirname(historyFile), basename(historyFile))) {
    const [token, at, status, topic, apnsId, tag, title, connectionId, fault] = line;
    count += 1;
    connections.add(connectionId);
    if (status >= 200 && status < 300) accepted += 1;
    for (const kind of Object.values(kinds)) if (fault.startsWith(kind)) faults[kind] += 1;
    if (fault.startsWith(kinds.cut)) cutAt.set(connectionId, at);
    const device = deviceOf.get(token);
    if (device === undefined || !titles.has(title)) strangers.push(`'${title}' to ${token}`);
    const key = `${title} ${device}`;
    const push = { at, status, identity: [topic, apnsId, tag].join(' '), connectionId, fault };
    const known = pushes.get(key);
    if (known === undefined) pushes.set(key, [push]);
    else known.push(push);
  }

  const outcomes = await readOutcomes(sql, messages);
  let deliveries = 0;
  let attemptsUnseen = 0;
  let untouched = 0;
  let untouchedCounted = 0;
  const complaints = { lost: [] as string[], doubled: [] as string[], astray: [] as string[] };
  for (const title of titles) {
    for (const { id, token, platform } of devices) {
      const key = `${title} ${id}`;
      const of = outcomes.get(key) ?? [];
      deliveries += of.length;
      const name = `${title} to ${id} (${platform})`;
      const isDead = token.startsWith(deadPrefix);
      const verdict = judge({ name, isDead, platform, pushes: pushes.get(key) ?? [], outcomes: of }, cutAt);
      complaints.lost.push(...verdict.lost);
      complaints.doubled.push(...verdict.doubled);
      complaints.astray.push(...verdict.astray);
      attemptsUnseen += verdict.attemptsUnseen;
      if (verdict.untouched === 0) continue;
      untouched += 1;
      if (verdict.attemptsUnseen > 0) untouchedCounted += 1;
    }
  }
  return {
    pushes: count,
    accepted,
    deliveries,
    connections: connections.size,
    faults,
    attemptsUnseen,
    untouched,
    untouchedCounted,
    strangers,
    ...complaints,
  };
}

const rowsAtOnce = 5_000;

/** Outcomes by title and device. */
async function readOutcomes(sql: Sql, messages: ReadonlyMap<string, string>): Promise<Map<string, Outcome[]>> {
  const outcomes = new Map<string, Outcome[]>();
  type Read = { messageId: Uuid; deviceId: Uuid; status: number; errorCode: number | null; attempts: number };
  const rows = sql`
    SELECT b.message_id, d.device_id, d.status, d.error_code, d.attempts
    FROM deliveries d JOIN batches b ON b.id = d.batch_id`;
  for await (const some of readInPortions<Read>(sql, rows, rowsAtOnce)) {
    for (const { messageId, deviceId, status, errorCode, attempts } of some) {
      const key = `${messages.get(encodeId('msg', messageId))} ${encodeId('dev', deviceId)}`;
      const outcome = { status: statusOfNumber(status), errorCode: codeOfNumber(errorCode), attempts };
      const known = outcomes.get(key);
      if (known === undefined) outcomes.set(key, [outcome]);
      else known.push(outcome);
    }
  }
  return outcomes;
}
