// What a service's processes are told to do at their failpoints, and what they did.
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Failpoint } from '../../../server/src/platform/failpoint.ts';

export interface FailpointRule {
  readonly name: Failpoint;
  /** Which passing of it in one process, from 1. */
  readonly hit: number;
  /** SIGKILL, SIGSTOP, an error, or a pause. A stopped process goes on where it was when it gets SIGCONT. */
  readonly action: 'kill' | 'stop' | 'throw' | 'wait';
  readonly waitMs?: number;
}

/** Each rule acts once, in whichever process of the service comes to it first. */
export interface FailpointPlan {
  /** Where processes leave word of what they did. */
  readonly directory: string;
  readonly rules: readonly FailpointRule[];
}

export interface Fired {
  /** Milliseconds since the epoch, just before. */
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

/** How a service is started so that the plan holds in all its processes. */
export async function armedWith(plan: FailpointPlan): Promise<ArmedOptions> {
  await mkdir(plan.directory, { recursive: true });
  return { nodeOptions: ['--import', preload], environment: { CARILLON_FAILPOINTS: JSON.stringify(plan) } };
}

/** What has happened so far, in order. */
export async function listFired({ directory }: Pick<FailpointPlan, 'directory'>): Promise<Fired[]> {
  const file = join(directory, 'fired.ndjson');
  if (!existsSync(file)) return [];
  return (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Fired);
}

/** A rule that has not acted never will. False: it has. */
export async function takeBack({ directory }: Pick<FailpointPlan, 'directory'>, rule: number): Promise<boolean> {
  try {
    await writeFile(join(directory, `rule-${rule}`), '', { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
