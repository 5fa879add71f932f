// Imports a file into an app, a few thousand records in each transaction. The next lot is read and
// checked while the former one is stored; no more than two lots are in memory. Each transaction
// also stores the progress, so that a command that was ended at any moment continues there. Without
// stored progress the import starts again, and rows that were imported before change nothing.
import { setImmediate as turn } from 'node:timers/promises';
import { repeatOnDeadlock, type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { TooManyProperties } from '../properties/learn-properties.ts';
import { UserIsHeld } from '../users/upsert-users.ts';
import type { CellTypes } from './cells.ts';
import type { Detected } from './detect.ts';
import { type GivenRow, Refused } from './given-row.ts';
import { importRows } from './import-rows.ts';
import { ImportError, type Input } from './input.ts';
import type { ImportProgress } from './progress.ts';
import { deleteImport, deleteOldImports, findImport, insertImport, updateImport } from './queries.ts';
import type { FileRecord, Position } from './records.ts';
import type { Reject, RejectFile } from './reject-file.ts';
import { addCounts, type DevicePart, type ImportRow, noCounts, RowsRefused, type UserPart } from './row.ts';
import { sentenceOf, sentenceOfData } from './sentence-of.ts';

export interface ImportPlan {
  readonly appId: Uuid;
  /**
   * Identifies the file and the rules it is checked by; null for input that can be read only once.
   */
  readonly fingerprint: Buffer | null;
  readonly bytes: Input['bytes'];
  readonly format: Detected;
  readonly judge: (given: GivenRow) => ImportRow;
  readonly types: CellTypes;
  readonly rejects: RejectFile;
  /** Called after each transaction, and at the beginning when a former run is continued. */
  readonly onProgress: (progress: ImportProgress) => void;
}

const recordsAtOnce = 2_000;
const bytesAtOnce = 4 * 1024 * 1024;
/** Records that are checked before the event loop handles the database's answers again. */
const recordsATurn = 100;
const rememberedDays = 30;
/** The most tries to store a lot with a user who is erased each time meanwhile. */
const heldTimesMax = 10;
/** Different reasons that are counted separately. */
const reasonsMax = 50;
const otherReasons = 'Other reasons.';
/** The number of lines that are listed for a reason. */
const firstLinesMax = 5;
/** A reason may quote the file, whose text may be long. */
const sentenceLengthMax = 500;

interface Deps {
  readonly sql: Sql;
  readonly clock: Clock;
}

/** Imports a file. Throws `ImportError`; everything that was stored before stays. */
export async function importFile(deps: Deps, plan: ImportPlan): Promise<ImportProgress> {
  const { fingerprint, appId, format } = plan;
  let progress: ImportProgress = {
    position: format.from,
    records: 0,
    counts: noCounts,
    rejected: 0,
    reasons: {},
    rejectedBytes: 0,
    dropped: {},
  };
  await deleteOldImports(deps.sql, deps.clock, rememberedDays);
  const former = fingerprint && (await remember(deps, appId, fingerprint, progress));
  if (former) {
    progress = { ...progress, ...former };
    plan.onProgress(progress);
  }

  let storing: Promise<void> = Promise.resolve();
  const store = async (lot: JudgedLot): Promise<void> => {
    progress = await storeLot(deps, plan, progress, lot);
    plan.onProgress(progress);
  };
  try {
    for await (const lot of lotsOf(plan, progress.position)) {
      const judged = await judgeLot(plan, lot);
      await storing;
      storing = store(judged);
      // The error is thrown when the next lot awaits this promise; without this handler it would
      // count as unhandled.
      storing.catch(() => undefined);
    }
    await storing;
  } finally {
    await storing.catch(() => undefined);
    await plan.rejects.close();
  }
  if (fingerprint) await deleteImport(deps.sql, appId, fingerprint);
  return progress;
}

// Returns the progress of an earlier run, or null when this is the first.
async function remember(
  { sql, clock }: Deps,
  appId: Uuid,
  fingerprint: Buffer,
  start: ImportProgress,
): Promise<ImportProgress | null> {
  const known = await findImport(sql, appId, fingerprint);
  if (known) return known;
  if (await insertImport(sql, clock, appId, fingerprint, start)) return null;
  return (await findImport(sql, appId, fingerprint)) ?? null;
}

interface Lot {
  readonly records: readonly FileRecord[];
  readonly after: Position;
}

async function* lotsOf({ bytes, format }: ImportPlan, from: Position): AsyncGenerator<Lot> {
  const splitter = format.split(from);
  let toSkip = from.offset;
  let records: FileRecord[] = [];
  let heldBytes = 0;
  const take = function* (found: readonly FileRecord[]): Generator<Lot> {
    for (const record of found) {
      records.push(record);
      heldBytes += record.bytes.length;
      if (records.length < recordsAtOnce && heldBytes < bytesAtOnce) continue;
      yield { records, after: record.after };
      records = [];
      heldBytes = 0;
    }
  };
  for await (const piece of bytes) {
    const skipped = Math.min(toSkip, piece.length);
    toSkip -= skipped;
    if (skipped < piece.length) yield* take(splitter.push(piece.subarray(skipped)));
  }
  yield* take(splitter.end());
  const last = records.at(-1);
  if (last) yield { records, after: last.after };
}

interface JudgedLot extends Lot {
  readonly rows: ReadonlyMap<ImportRow, FileRecord>;
  readonly rejects: ReadonlyMap<FileRecord, ReadonlySet<string>>;
}

async function judgeLot({ format, judge, types }: ImportPlan, { records, after }: Lot): Promise<JudgedLot> {
  const rejects: Rejects = new Map();
  const given: { readonly row: GivenRow; readonly record: FileRecord }[] = [];
  const rows = new Map<ImportRow, FileRecord>();
  for (const [i, record] of records.entries()) {
    if (i % recordsATurn === 0) await turn();
    const read = tryStep(rejects, record, () => (record.fault === null ? format.read(record) : refuse(record.fault)));
    for (const row of read ?? []) given.push({ row, record });
  }
  types.learn(given.flatMap(({ row }) => [...row.deviceCells, ...row.userCells]));
  for (const [i, { row, record }] of given.entries()) {
    if (i % recordsATurn === 0) await turn();
    const judged = tryStep(rejects, record, () => judge(row));
    if (judged) rows.set(judged, record);
  }
  return { rows, rejects, records, after };
}

function refuse(sentence: string): never {
  throw new Refused(sentence);
}

/**
 * A record is rejected once, with all of its reasons. Of its rows those are imported that no rule
 * refuses. None is imported where the database refuses a text of the record.
 */
type Rejects = Map<FileRecord, Set<string>>;

function reject(rejects: Rejects, record: FileRecord, sentence: string): void {
  rejects.set(record, (rejects.get(record) ?? new Set()).add(shorten(sentence)));
}

function tryStep<Result>(rejects: Rejects, record: FileRecord, work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    reject(rejects, record, sentenceOf(error));
    return undefined;
  }
}

// A sentence is stored, and it may quote text that the database could not store. The cut never
// splits a surrogate pair.
function shorten(sentence: string): string {
  const text = sentence.replaceAll('\u0000', '\ufffd').toWellFormed();
  return text.length <= sentenceLengthMax ? text : `${text.slice(0, sentenceLengthMax).toWellFormed()}…`;
}

async function storeLot(
  deps: Deps,
  plan: ImportPlan,
  progress: ImportProgress,
  lot: JudgedLot,
): Promise<ImportProgress> {
  const { sql, clock } = deps;
  const { appId, fingerprint } = plan;
  let rows = new Map(lot.rows);
  const rejects: Rejects = new Map([...lot.rejects].map(([record, sentences]) => [record, new Set(sentences)]));
  let held = 0;
  for (;;) {
    try {
      return await repeatOnDeadlock(() =>
        transaction(sql, async (tx) => {
          const { counts, conflicts } = await importRows({ tx, clock, appId }, [...rows.keys()]);
          const rejected = inOrder(rejects);
          const next: ImportProgress = {
            position: lot.after,
            records: progress.records + lot.records.length,
            counts: addCounts(progress.counts, counts),
            rejected: progress.rejected + rejected.length,
            reasons: countReasons(progress.reasons, rejected),
            rejectedBytes: await plan.rejects.write(progress.rejectedBytes, rejected),
            dropped: countDropped(progress.dropped, rows, conflicts),
          };
          const isOurs =
            fingerprint === null || (await updateImport(tx, clock, appId, fingerprint, progress.position.offset, next));
          if (!isOurs) throw new ImportError('Another command is importing this file into this app');
          return next;
        }),
      );
    } catch (error) {
      if (error instanceof UserIsHeld && ++held < heldTimesMax) continue;
      const sentence = sentenceOfData(error);
      if (sentence !== undefined && lot.records.length > 1) {
        // The lot is halved until the records are found that cannot be stored.
        let done = progress;
        for (const part of halvesOf({ ...lot, rows, rejects })) done = await storeLot(deps, plan, done, part);
        return done;
      }
      if (sentence !== undefined && rows.size > 0) {
        for (const record of rows.values()) reject(rejects, record, sentence);
        rows = new Map();
        continue;
      }
      if (!(error instanceof RowsRefused)) throw error;
      const { refusals } = error;
      // The order is kept, because a later row changes the data of an earlier one.
      const kept = [...rows].map(([row, record]): [ImportRow, FileRecord] | undefined => {
        const refusal = refusals.get(row);
        if (!refusal) return [row, record];
        const misfits = refusal instanceof TooManyProperties && row.isForeign ? refusal.misfits : [];
        if (misfits.length > 0) return [withoutProperties(row, refusal as TooManyProperties), record];
        reject(rejects, record, sentenceOf(refusal));
        return undefined;
      });
      rows = new Map(kept.filter((each) => each !== undefined));
    }
  }
}

function halvesOf({ records, rows, rejects }: JudgedLot): JudgedLot[] {
  const middle = Math.ceil(records.length / 2);
  return [records.slice(0, middle), records.slice(middle)].flatMap((half) => {
    const last = half.at(-1);
    if (!last) return [];
    const inHalf = new Set(half);
    return {
      records: half,
      after: last.after,
      rows: new Map([...rows].filter(([, record]) => inHalf.has(record))),
      rejects: new Map([...rejects].filter(([record]) => inHalf.has(record))),
    };
  });
}

function withoutProperties(row: ImportRow, refusal: TooManyProperties): ImportRow {
  const { misfits } = refusal;
  const [path, ...message] = sentenceOf(refusal).split(': ');
  const without = <Part extends DevicePart | UserPart>(part: Part): Part => ({
    ...part,
    properties: part.properties && new Map([...part.properties].filter(([key]) => !misfits.includes(key))),
  });
  const dropped = misfits.map((key) => `${path}.${key}: ${message.join(': ')}`);
  return {
    ...row,
    device: row.device && without(row.device),
    user: row.user && without(row.user),
    dropped: [...row.dropped, ...dropped],
  };
}

function countDropped(
  former: ImportProgress['dropped'],
  rows: ReadonlyMap<ImportRow, FileRecord>,
  conflicts: ReadonlyMap<ImportRow, readonly string[]>,
): ImportProgress['dropped'] {
  const counts = new Map(Object.entries(former));
  for (const [row, { line }] of rows) {
    for (const sentence of [...row.dropped, ...(conflicts.get(row) ?? [])].map(shorten)) {
      const name = counts.has(sentence) || counts.size < reasonsMax ? sentence : otherReasons;
      const { values, firstLines } = counts.get(name) ?? { values: 0, firstLines: [] };
      const isTold = firstLines.length === firstLinesMax || firstLines.at(-1) === line;
      counts.set(name, { values: values + 1, firstLines: isTold ? firstLines : [...firstLines, line] });
    }
  }
  return Object.fromEntries(counts);
}

function inOrder(rejects: Rejects): Reject[] {
  return [...rejects]
    .map(([record, sentences]) => ({ record, sentences: [...sentences] }))
    .sort((one, other) => one.record.line - other.record.line);
}

function countReasons(former: ImportProgress['reasons'], rejects: readonly Reject[]): Record<string, number> {
  const counts = new Map(Object.entries(former));
  for (const sentence of rejects.flatMap(({ sentences }) => sentences)) {
    const name = counts.has(sentence) || counts.size < reasonsMax ? sentence : otherReasons;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}
