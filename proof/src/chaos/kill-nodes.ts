// Decides from the seed what happens to the nodes of a run, and when. It kills a process or a whole
// node at any instant, makes processes die at failpoints that a random instant would rarely hit,
// and stops processes for longer than a lease.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';
import { createRandom, type Random } from '../../../rig/src/random.ts';
import type { Failpoint } from '../../../server/src/ground/host/failpoint.ts';
import { countOpenBatches, untilBusy } from './busy.ts';
import type { Nodes } from './nodes.ts';

export interface KillPlan {
  readonly kills: number;
  readonly seed: number;
  /** The mean time between two kills. */
  readonly everyMs: number;
  readonly sql: Sql;
  readonly onKill: (kills: number) => void;
}

/**
 * Longer than a lease and the rest of the renewal interval before it, so that the process has lost
 * every claim when it goes on.
 */
const stopMs = { least: 21_000, most: 27_000 };

/**
 * Failpoints where a process may die, by the role that passes them, and the most times that it may
 * pass before.
 */
const failpoints: readonly {
  readonly name: Failpoint;
  readonly hitsMax: number;
  readonly role: 'api' | 'worker' | 'any';
}[] = [
  { name: 'message.before_commit', hitsMax: 4, role: 'api' },
  { name: 'message.after_commit_sent', hitsMax: 4, role: 'api' },
  { name: 'message.before_reply', hitsMax: 4, role: 'api' },
  { name: 'batch.after_claim', hitsMax: 5, role: 'any' },
  { name: 'push.before_write', hitsMax: 200, role: 'any' },
  { name: 'push.after_reply', hitsMax: 200, role: 'any' },
  { name: 'outcomes.before_commit', hitsMax: 5, role: 'any' },
  { name: 'outcomes.after_commit', hitsMax: 5, role: 'any' },
  { name: 'lease.before_renew', hitsMax: 2, role: 'any' },
  { name: 'schedule.after_wake', hitsMax: 1, role: 'worker' },
];

/**
 * Resolves when `kills` kills have happened and every stop has ended, with the number of steps that
 * found a batch in work.
 */
export async function killNodes(nodes: Nodes, { kills, seed, everyMs, sql, onKill }: KillPlan): Promise<number> {
  const begun: Promise<unknown>[] = [];
  let inWork = 0;
  for (let step = 0, known = 0; nodes.kills < kills; step++) {
    // Each step has a random source of its own, so that its draws do not depend on which nodes were
    // free before.
    const random = createRandom(seed + step * 0x9e37);
    await sleep(random.below(2 * everyMs));
    // Most kills fall into the middle of work; the rest fall at any time.
    if (random.below(100) < 75) await untilBusy(sql, 1 + random.below(4));
    const drawn = random.below(100);
    const free = nodes.names.filter((name) => nodes.isFree(name));
    const name = free[random.below(1000) % free.length];
    if (name !== undefined) {
      if ((await countOpenBatches(sql))?.worked) inWork++;
      begun.push(act(nodes, name, drawn, random));
    }
    if (nodes.kills !== known) onKill(nodes.kills);
    known = nodes.kills;
  }
  await Promise.all(begun);
  return inWork;
}

async function act(nodes: Nodes, name: string, drawn: number, random: Random): Promise<void> {
  const isWorker = nodes.workers.includes(name);
  const waitMs = stopMs.least + random.below(stopMs.most - stopMs.least);
  // Only one worker is stopped at a time. Otherwise no worker could take over.
  const mayStop = isWorker && !nodes.isHolding;
  if (drawn < 4 && mayStop) return nodes.stop(name, waitMs);
  if (drawn < 7 && mayStop) {
    return nodes.arm(name, { name: 'outcomes.before_commit', hit: 1 + random.below(4), action: 'stop', waitMs });
  }
  if (drawn < 27) {
    const { name: at, hitsMax } = random.pick(
      failpoints.filter(({ role }) => role === 'any' || (role === 'worker') === isWorker),
    );
    return nodes.arm(name, { name: at, hit: 1 + random.below(hitsMax), action: 'kill' });
  }
  return nodes.kill(name, drawn < 60 ? 'process' : 'node');
}
