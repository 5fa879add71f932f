// The orders to a service's processes for their failpoints, and the record of what they did.
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Failpoint } from '../../server/src/ground/host/failpoint.ts';

export interface FailpointRule {
  readonly name: Failpoint;
  /** The rule acts at this passing of the failpoint in one process, counted from 1. */
  readonly hit: number;
  /**
   * SIGKILL, SIGSTOP, an error, or a delay. A stopped process goes on from the same place when it
   * gets SIGCONT.
   */
  readonly action: 'kill' | 'stop' | 'throw' | 'wait';
  readonly waitMs?: number;
}

/** Each rule acts once, in the first process of the service that reaches it. */
export interface FailpointPlan {
  /** The directory where processes record what they did. */
  readonly directory: string;
  readonly rules: readonly FailpointRule[];
}

export interface Fired {
  /** Milliseconds since the epoch, just before the action. */
  readonly at: number;
  readonly pid: number;
  readonly name: Failpoint;
  readonly action: FailpointRule['action'];
}

const preload = fileURLToPath(new URL('failpoint-preload.mjs', import.meta.url));

export interface ArmedOptions {
  readonly nodeOptions: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** The options that start a service with the plan in all its processes. */
export async function armedWith(plan: FailpointPlan): Promise<ArmedOptions> {
  await mkdir(plan.directory, { recursive: true });
  return { nodeOptions: ['--import', preload], environment: { CARILLON_FAILPOINTS: JSON.stringify(plan) } };
}

/** The actions so far, in order. */
export async function listFired({ directory }: Pick<FailpointPlan, 'directory'>): Promise<Fired[]> {
  const file = join(directory, 'fired.ndjson');
  if (!existsSync(file)) return [];
  const lines = (await readFile(file, 'utf8')).split('\n');
  // The text after the last line break is a line that is still being written.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Fired);
}

/** Makes sure that a rule never acts. Returns false when it has already acted. */
export async function takeBack({ directory }: Pick<FailpointPlan, 'directory'>, rule: number): Promise<boolean> {
  try {
    await writeFile(join(directory, `rule-${rule}`), '', { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
