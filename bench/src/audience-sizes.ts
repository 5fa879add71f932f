// The sizes of the audiences that `audience` measures, and a check that the disk can hold them.
// Reads the disk and never writes to it.
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { RunError } from '../../rig/src/workbench.ts';

/** The number of devices of an audience when no option gives one. */
export const audienceUsual = 1_000_000;
/** The same in a smoke run. Indexes are built for apps of 5,000 devices and more. */
export const audienceQuick = 6_000;
/** The smaller sizes that are measured on the way to the requested one. */
const steps = [10_000, 100_000, 1_000_000];

/** The sizes that are measured for a requested size; the requested size is the last. */
export function sizesUpTo(devices: number): number[] {
  return [...steps.filter((size) => size < devices), devices];
}

/**
 * Bytes of a device with all of its rows and indexes, and of its copy in JSONB (largest audience
 * only). Measured, with a margin.
 */
const bytesEach = 1_000;
const bytesEachCopied = 700;
/** Bytes of an empty database and of the write-ahead log that it keeps. */
const bytesAlways = 4e9;

/**
 * Throws a RunError with one sentence when the audiences do not fit on the disk of the temporary
 * directory.
 */
export async function checkDisk(sizes: readonly number[]): Promise<void> {
  const { bavail, bsize } = await statfs(tmpdir());
  const greatest = Math.max(...sizes);
  const needed = bytesAlways + sizes.reduce((sum, size) => sum + size, 0) * bytesEach + greatest * bytesEachCopied;
  if (bavail * bsize >= needed) return;
  const gb = (bytes: number): string => (bytes / 1e9).toFixed(1);
  throw new RunError(
    `${greatest.toLocaleString('en-US')} devices take about ${gb(needed)} GB in ${tmpdir()}, where ${gb(bavail * bsize)} GB are free.`,
  );
}
