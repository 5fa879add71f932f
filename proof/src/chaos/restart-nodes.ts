// Ends one node after another in order and starts it again, as a rolling update does.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';
import { createRandom } from '../../../rig/src/random.ts';
import { untilBusy } from './busy.ts';
import type { Nodes } from './nodes.ts';

export interface RestartPlan {
  readonly restarts: number;
  readonly seed: number;
  readonly sql: Sql;
  readonly onRestart: (line: string) => void;
}

export interface Restarts {
  readonly secondsMax: number;
  /** Sentences about nodes that did not end as they should. */
  readonly violations: readonly string[];
}

const exitWithinMs = 25_000;
const everyMs = 1500;

export async function restartNodes(nodes: Nodes, { restarts, seed, sql, onRestart }: RestartPlan): Promise<Restarts> {
  const random = createRandom(seed);
  const violations: string[] = [];
  let msMost = 0;
  for (let count = 1; count <= restarts; count++) {
    await sleep(random.below(2 * everyMs));
    const name = nodes.names[count % nodes.names.length] ?? '';
    await untilBusy(sql, nodes.workers.length);
    const { code, ms } = await nodes.restart(name);
    msMost = Math.max(msMost, ms);
    if (code !== 0) violations.push(`${name} ended with ${code}`);
    if (ms > exitWithinMs) violations.push(`${name} took ${Math.round(ms)} ms to end`);
    onRestart(`${count}: ${name} ended with ${code} in ${(ms / 1000).toFixed(1)} s`);
  }
  return { secondsMax: Math.round(msMost / 100) / 10, violations };
}
