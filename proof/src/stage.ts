// The stage of a proof through the API: a database that nodes share, a sandbox, an app with
// devices, and nodes as an operator starts them. Afterwards it counts each device's pushes from the
// sandbox's history.
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { skewedBy } from '../../rig/src/clock-skew.ts';
import { startDatabaseProxy } from '../../rig/src/database-proxy.ts';
import { armedWith, type FailpointPlan } from '../../rig/src/failpoints.ts';
import type { FaultProxy } from '../../rig/src/fault-proxy.ts';
import { addDevices, type MadeDevice, type MixedApp, makeMixedApp, type RunPlace } from '../../rig/src/mixed-app.ts';
import { findFreePort } from '../../rig/src/ports.ts';
import { type RunDatabase, startRunDatabase } from '../../rig/src/run-database.ts';
import { type HistoryLine, type SandboxProcess, startSandboxProcess } from '../../rig/src/sandbox-process.ts';
import { type ServiceNode, startNode } from '../../rig/src/service-node.ts';
import type { Workbench } from '../../rig/src/workbench.ts';
import { decodeId, encodeId, type Uuid } from '../../server/src/ground/values/ids.ts';

export interface Api {
  readonly url: string;
  readonly node: ServiceNode;
}

export interface NodeChanges {
  /** Overrides for the environment that all nodes get. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly failpoints?: FailpointPlan;
  /** How far the clock of the node's machine is ahead. */
  readonly skewMs?: number;
}

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export interface StagePlan {
  readonly workbench: Workbench;
  readonly purpose: string;
  readonly devices: number;
  readonly seed: number;
  /** Whether nodes reach the database through a proxy. */
  readonly isProxied?: boolean;
}

export class Stage {
  readonly database: RunDatabase;
  readonly sandbox: SandboxProcess;
  readonly app: MixedApp;
  readonly devices: readonly MadeDevice[];
  /** The proxy before the database, when the plan asks for one. */
  readonly proxy: FaultProxy | undefined;
  readonly #workbench: Workbench;
  readonly #place: RunPlace;
  #nodes = 0;

  private constructor(
    parts: Pick<Stage, 'database' | 'sandbox' | 'app' | 'devices' | 'proxy'>,
    place: RunPlace,
    workbench: Workbench,
  ) {
    this.database = parts.database;
    this.sandbox = parts.sandbox;
    this.app = parts.app;
    this.devices = parts.devices;
    this.proxy = parts.proxy;
    this.#place = place;
    this.#workbench = workbench;
  }

  static async set({ workbench, purpose, devices: count, seed, isProxied = false }: StagePlan): Promise<Stage> {
    const directory = await workbench.makeDirectory(purpose);
    const database = await startRunDatabase(workbench);
    const sandbox = await startSandboxProcess(workbench, directory);
    const place = { directory, environment: { ...database.environment, ...sandbox.environment } };
    const app = await makeMixedApp(place, sandbox, 'Proof');
    const devices: MadeDevice[] = [];
    const plan = { count, platform: 'web', seed: `${purpose} ${seed}` } as const;
    await addDevices(database.sql, app, sandbox, plan, (some) => void devices.push(...some));
    const way = isProxied ? await startDatabaseProxy(database.url) : undefined;
    if (way) workbench.onClose(() => way.proxy.close());
    const ofNodes = way ? { ...place, environment: { ...place.environment, DATABASE_URL: way.url } } : place;
    return new Stage({ database, sandbox, app, devices, proxy: way?.proxy }, ofNodes, workbench);
  }

  /** A directory for files of the proof. */
  get directory(): string {
    return this.#place.directory;
  }

  /** Resolves when the API answers. */
  async startApi(changes: NodeChanges = {}): Promise<Api> {
    const port = await findFreePort();
    const environment = { PORT: String(port), ...changes.environment };
    const node = await this.#start('api', { ...changes, environment });
    return { url: `http://127.0.0.1:${port}`, node };
  }

  async startWorker(changes: NodeChanges = {}): Promise<ServiceNode> {
    return await this.#start('worker', changes);
  }

  async #start(role: 'api' | 'worker', { environment, failpoints, skewMs }: NodeChanges): Promise<ServiceNode> {
    this.#nodes += 1;
    const armed = failpoints && (await armedWith(failpoints));
    const skewed = skewMs === undefined ? undefined : skewedBy(skewMs);
    const node = await startNode(this.#workbench, {
      name: `${role}-${this.#nodes}`,
      role,
      directory: this.#place.directory,
      environment: { ...this.#place.environment, ...environment, ...armed?.environment, ...skewed?.environment },
      nodeOptions: [...(armed?.nodeOptions ?? []), ...(skewed?.nodeOptions ?? [])],
    });
    await node.ready();
    return node;
  }

  /** POST /v1/messages. Undefined: there was no answer. */
  async send({ url }: Pick<Api, 'url'>, idempotencyKey: string, message: object): Promise<Answer | undefined> {
    try {
      const response = await fetch(`${url}/v1/messages`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${this.app.serverKey}`,
          'content-type': 'application/json',
          'idempotency-key': idempotencyKey,
        },
        body: JSON.stringify(message),
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    } catch {
      return undefined;
    }
  }

  /** The API's ids of the messages that have this key. */
  async messagesOf(idempotencyKey: string): Promise<readonly string[]> {
    const rows = await this.database.sql<{ id: Uuid }[]>`
      SELECT id FROM messages WHERE idempotency_key = ${idempotencyKey}`;
    return rows.map(({ id }) => encodeId('msg', id));
  }

  /** Deliveries charged to the app. */
  async charged(): Promise<number> {
    const appId = decodeId('app', this.app.id) ?? '';
    const [row] = await this.database.sql<{ used: number }[]>`
      SELECT coalesce(sum(used), 0)::float8 AS used FROM usage WHERE app_id = ${appId}`;
    return row?.used ?? 0;
  }

  /**
   * Resolves with true when no message is in progress, with false when one still is after
   * `withinMs`.
   */
  async isQuiet(withinMs: number): Promise<boolean> {
    const deadline = performance.now() + withinMs;
    for (;;) {
      const open = await this.database.sql`SELECT 1 FROM messages WHERE status IN ('sending', 'scheduled') LIMIT 1`;
      if (open.length === 0) return true;
      if (performance.now() > deadline) return false;
      await sleep(100);
    }
  }

  /** Ends the sandbox. Returns how many pushes arrived for each `TITLE TOKEN`. */
  async countPushes(): Promise<ReadonlyMap<string, number>> {
    return new Map([...(await this.listPushes())].map(([key, pushes]) => [key, pushes.length]));
  }

  /**
   * Ends the sandbox. The pushes that came in for each title and token: `TITLE TOKEN` → pushes, in
   * their order.
   */
  async listPushes(): Promise<ReadonlyMap<string, readonly HistoryLine[]>> {
    await this.sandbox.stop();
    const text = await readFile(this.sandbox.historyFile, 'utf8');
    const pushes = new Map<string, HistoryLine[]>();
    for (const written of text.trimEnd().split('\n')) {
      if (written === '') continue;
      const line = JSON.parse(written) as HistoryLine;
      const [token, , , , , , title] = line;
      const key = `${title} ${token}`;
      const known = pushes.get(key);
      if (known) known.push(line);
      else pushes.set(key, [line]);
    }
    return pushes;
  }
}
