// The nodes of a run, each in its place. A killed node is started again; a stopped node goes on
// after its lease. Everything that is done to a node is recorded for the checker.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { armedWith, type FailpointRule, type Fired, listFired, takeBack } from '../../../rig/src/failpoints.ts';
import type { RunPlace } from '../../../rig/src/mixed-app.ts';
import { type ServiceNode, startNode } from '../../../rig/src/service-node.ts';
import type { Workbench } from '../../../rig/src/workbench.ts';
import { type EventLine, fileNames, writeLines } from './history-files.ts';

export interface Nodes {
  /** Names of all places, and of the places that hold a worker. */
  readonly names: readonly string[];
  readonly workers: readonly string[];
  /** Milliseconds in which all nodes together were ready at the start. */
  readonly startedInMs: number;
  /** Nodes killed so far, deaths at failpoints included. */
  readonly kills: number;
  /** Whether a node is stopped or about to be. */
  readonly isHolding: boolean;
  /** Whether nothing is being done to the node. */
  isFree(name: string): boolean;
  /** Kills the whole node, or only the working process, which its supervisor then replaces. */
  kill(name: string, what: 'node' | 'process'): Promise<void>;
  /** Restarts the node with an order to die or stop at a failpoint. Resolves once the node runs. */
  arm(name: string, rule: FailpointRule): Promise<void>;
  /** Stops the working process for longer than its lease. Resolves when the process goes on. */
  stop(name: string, ms: number): Promise<void>;
  /** Ends the node in order and starts it again. Resolves with how the end went. */
  restart(name: string): Promise<{ readonly code: number | null; readonly ms: number }>;
  /** The working processes, by node. */
  pids(): Promise<ReadonlyMap<string, readonly number[]>>;
  /** Records an outage of the shared database. */
  noteOutage(outage: { readonly at: number; readonly until: number; readonly by: string }): Promise<void>;
  /** Waits for everything that was begun; nothing more is done to the nodes. */
  close(): Promise<void>;
}

interface Place {
  readonly name: string;
  readonly role: 'api' | 'worker';
  node: ServiceNode;
  /** The directory of the current node's failpoint plan, if it has one. */
  armed: string | undefined;
  /** Actions on this node run one after another. */
  turn: Promise<unknown>;
  waiting: number;
}

export interface NodesPlan {
  readonly place: RunPlace;
  readonly roles: readonly ('api' | 'worker')[];
}

const firedPollMs = 200;

export async function startNodes(workbench: Workbench, { place, roles }: NodesPlan): Promise<Nodes> {
  const events = writeLines<EventLine>(place.directory, fileNames.events);
  const places = new Map<string, Place>();
  let kills = 0;
  let plans = 0;
  let held = 0;
  let isClosing = false;

  const note = async (event: EventLine): Promise<void> => {
    if (event.kind === 'kill') kills++;
    await events.write(event);
  };
  const launch = async (
    name: string,
    role: 'api' | 'worker',
    rule?: FailpointRule,
  ): Promise<[ServiceNode, string | undefined]> => {
    const directory = rule && join(place.directory, `failpoints-${++plans}`);
    const armed = directory && rule ? await armedWith({ directory, rules: [rule] }) : undefined;
    const node = await startNode(workbench, {
      name,
      role,
      directory: place.directory,
      environment: { ...place.environment, ...armed?.environment },
      nodeOptions: armed?.nodeOptions ?? [],
    });
    return [node, directory];
  };
  const relaunch = async (at: Place, rule?: FailpointRule): Promise<void> => {
    if (isClosing) return;
    [at.node, at.armed] = await launch(at.name, at.role, rule);
    // Nobody waits for the start, and a node may be killed meanwhile. A supervisor ends when its
    // process is killed before it was ready, so the node is started again.
    const { node } = at;
    node.ready().catch(() => inTurn(at, async () => (at.node === node ? relaunch(at) : undefined)));
  };
  const get = (name: string): Place => {
    const found = places.get(name);
    if (!found) throw new Error(`there is no node ${name}`);
    return found;
  };
  /** Runs one action at a time on a node. */
  const inTurn = <Result>(at: Place, act: () => Promise<Result>): Promise<Result> => {
    at.waiting++;
    const done = at.turn.then(act).finally(() => {
      at.waiting--;
    });
    at.turn = done.catch(() => undefined);
    return done;
  };
  const holding = async (act: () => Promise<void>): Promise<void> => {
    held++;
    try {
      await act();
    } finally {
      held--;
    }
  };
  const holdStopped = async (at: Place, stopped: { at: number; pids: readonly number[] }, by: string, ms: number) => {
    await sleep(ms);
    // A process that was killed meanwhile has nothing to go on with, and its kill is recorded
    // already.
    const { at: until, pids } = await at.node.signalWorker('SIGCONT', stopped.pids);
    if (pids.length > 0) await note({ at: stopped.at, node: at.name, kind: 'stop', by, until });
  };

  const startedAt = performance.now();
  for (const [index, role] of roles.entries()) {
    const name = `${role}-${index}`;
    const [node] = await launch(name, role);
    places.set(name, { name, role, node, armed: undefined, turn: Promise.resolve(), waiting: 0 });
  }
  await Promise.all([...places.values()].map(({ node }) => node.ready()));
  const startedInMs = performance.now() - startedAt;

  /**
   * Deaths at failpoints happen by themselves, so they are read from the files that the processes
   * left.
   */
  const collectFired = async (at: Place): Promise<void> => {
    if (at.armed === undefined) return;
    const directory = at.armed;
    at.armed = undefined;
    for (const fired of await listFired({ directory })) {
      if (fired.action === 'kill') await note({ at: fired.at, node: at.name, kind: 'kill', by: fired.name });
    }
  };

  return {
    names: [...places.keys()],
    workers: [...places.values()].flatMap(({ name, role }) => (role === 'worker' ? [name] : [])),
    startedInMs,
    get kills() {
      return kills;
    },
    get isHolding() {
      return held > 0;
    },
    isFree: (name) => get(name).waiting === 0,
    kill: (name, what) =>
      inTurn(get(name), async () => {
        const at = get(name);
        if (what === 'process') {
          const { at: killedAt, pids } = await at.node.signalWorker('SIGKILL');
          if (pids.length > 0) await note({ at: killedAt, node: name, kind: 'kill', by: 'hand' });
          return;
        }
        await note({ at: await at.node.kill(), node: name, kind: 'kill', by: 'hand' });
        await collectFired(at);
        await relaunch(at);
      }),
    arm: (name, rule) => {
      const start = () =>
        inTurn(get(name), async () => {
          const at = get(name);
          await note({ at: await at.node.kill(), node: name, kind: 'kill', by: 'hand' });
          await collectFired(at);
          await relaunch(at, rule);
          if (rule.action !== 'stop' || at.armed === undefined) return;
          const fired = await untilFired(at.armed, rule.waitMs ?? 0);
          if (fired) await holdStopped(at, { at: fired.at, pids: [fired.pid] }, fired.name, rule.waitMs ?? 0);
        });
      return rule.action === 'stop' ? holding(start) : start();
    },
    stop: (name, ms) =>
      holding(() =>
        inTurn(get(name), async () => {
          const at = get(name);
          await holdStopped(at, await at.node.signalWorker('SIGSTOP'), 'hand', ms);
        }),
      ),
    restart: (name) =>
      inTurn(get(name), async () => {
        const at = get(name);
        const ended = await at.node.terminate();
        await relaunch(at);
        return ended;
      }),
    async pids() {
      const all = [...places.values()].map(async ({ name, node }) => [name, await node.workerPids()] as const);
      return new Map(await Promise.all(all));
    },
    noteOutage: (outage) => note({ ...outage, node: 'all', kind: 'outage' }),
    async close() {
      isClosing = true;
      await Promise.all([...places.values()].map((at) => at.turn));
      for (const at of places.values()) await collectFired(at);
      await events.close();
    },
  };
}

/**
 * Resolves with the fired stop, or with undefined after `withinMs`. The stop cannot fire after
 * that.
 */
async function untilFired(directory: string, withinMs: number): Promise<Fired | undefined> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const fired = (await listFired({ directory })).find(({ action }) => action === 'stop');
    if (fired) return fired;
    if (performance.now() > deadline && (await takeBack({ directory }, 0))) return undefined;
    await sleep(firedPollMs);
  }
}
