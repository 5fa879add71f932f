// What is done to the nodes of a run, and when: drawn from the seed. Kills at any instant, of a process or of a node whole;
// deaths at failpoints, where an instant at random would hardly ever fall; stops that outlast a lease.
import { setTimeout as pause } from 'node:timers/promises';
import type { Sql } from '../../../server/src/platform/db.ts';
import type { Failpoint } from '../../../server/src/platform/failpoint.ts';
import { createRandom, type Random } from '../../../server/test/platform/random.ts';
import { untilBusy } from './busy.ts';
import type { Nodes } from './nodes.ts';

export interface KillPlan {
  readonly kills: number;
  readonly seed: number;
  /** The mean of the time between two. */
  readonly everyMs: number;
  readonly sql: Sql;
  readonly onKill: (kills: number) => void;
}

/** A lease and what is left of the renewal before it, and then some: the process that goes on has lost everything it held. */
const stopMs = { least: 21_000, most: 27_000 };

/** Where a process may die, by what runs in it, and after how many times it may have passed there. */
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

/** Resolves when there were so many kills and every stop has ended. */
export async function killNodes(nodes: Nodes, { kills, seed, everyMs, sql, onKill }: KillPlan): Promise<void> {
  const begun: Promise<unknown>[] = [];
  for (let step = 0, known = 0; nodes.kills < kills; step++) {
    // Of its own for each step: what is drawn later does not depend on what was free before.
    const random = createRandom(seed + step * 0x9e37);
    await pause(random.below(2 * everyMs));
    // Most of them in the middle of something, the others whenever it happens to be.
    if (random.below(100) < 75) await untilBusy(sql, 1 + random.below(4));
    const drawn = random.below(100);
    const free = nodes.names.filter((name) => nodes.isFree(name));
    const name = free[random.below(1000) % free.length];
    if (name !== undefined) begun.push(act(nodes, name, drawn, random));
    if (nodes.kills !== known) onKill(nodes.kills);
    known = nodes.kills;
  }
  await Promise.all(begun);
}

async function act(nodes: Nodes, name: string, drawn: number, random: Random): Promise<void> {
  const isWorker = nodes.workers.includes(name);
  const waitMs = stopMs.least + random.below(stopMs.most - stopMs.least);
  // One at a time: else there would be nobody to take over.
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
