// How many devices the audiences have that `audience` measures, and whether the disk can hold them. Looks at the disk and never
// writes to it.
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { BenchError } from './workbench.ts';

/** How many devices an audience has, unless told. */
export const audienceUsual = 1_000_000;
/** An audience is watched to grow through these. */
const steps = [10_000, 100_000, 1_000_000];

/** The audiences that are made for a great one, it itself the last. */
export function sizesUpTo(devices: number): number[] {
  return [...steps.filter((size) => size < devices), devices];
}

/** What a result is kept as: other sizes stand beside the usual one. */
export function audienceName(devices: number): string {
  return devices === audienceUsual ? 'audience' : `audience-${devices}`;
}

/** A device with all that is built on it, and one of the greatest audience with its copy in JSONB besides; measured, and some more. */
const bytesEach = 1_000;
const bytesEachCopied = 700;
/** An empty database, and what it writes ahead before it may forget it. */
const bytesAlways = 4e9;

/** Refuses, in a sentence, audiences that do not fit where the run keeps its data. */
export async function checkDisk(sizes: readonly number[]): Promise<void> {
  const { bavail, bsize } = await statfs(tmpdir());
  const greatest = Math.max(...sizes);
  const needed = bytesAlways + sizes.reduce((sum, size) => sum + size, 0) * bytesEach + greatest * bytesEachCopied;
  if (bavail * bsize >= needed) return;
  const gb = (bytes: number): string => (bytes / 1e9).toFixed(1);
  throw new BenchError(
    `${greatest.toLocaleString('en-US')} devices take about ${gb(needed)} GB in ${tmpdir()}, where ${gb(bavail * bsize)} GB are free.`,
  );
}
