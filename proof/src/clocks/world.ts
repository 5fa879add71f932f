// A running service whose clocks a proof sets, and the people and companies around it, who judge by
// real time: push providers, phones, and the receiver of a webhook.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { verifyWebhook } from '../../../node/src/verify-webhook.ts';
import { addDevices, type MixedApp } from '../../../rig/src/mixed-app.ts';
import { type RunningService, startRunningService } from '../../../rig/src/running-service.ts';
import { createProcessClock, type ProcessClock, setDatabaseClock } from '../../../rig/src/settable-clocks.ts';
import { startWebhookEndpoint } from '../../../rig/src/webhook-endpoint.ts';
import type { Workbench } from '../../../rig/src/workbench.ts';
import type { Step } from './steps.ts';

const workers = 2;

const platforms = ['web', 'ios', 'android'] as const;
/** Devices that are refused after `refuse`. Their tokens begin with these prefixes. */
const refusals = [
  { platform: 'web', tokenPrefix: 'a503', status: 503 },
  { platform: 'web', tokenPrefix: 'a429', status: 429 },
  { platform: 'ios', tokenPrefix: 'b429', status: 429 },
  { platform: 'android', tokenPrefix: 'c503', status: 503 },
] as const;
const retryAfterSeconds = 2;
const refusedEach = 3;

/** The bounds of a step, in real time: it happened between these instants. */
export interface Taken {
  readonly fromMs: number;
  readonly toMs: number;
}

/** One message. */
export interface Sent {
  readonly title: string;
  readonly id: string;
}

/** The messages around a step. */
export type Kind = 'scheduled' | 'during' | 'short' | 'paced' | 'after';

/** A step and what was sent around it. Instants are real time. */
export interface Tried extends Taken {
  readonly step: Step;
  /** The time when every clock was right again. */
  readonly rightMs: number;
  /** Milliseconds from the step to the first push of the next message. */
  readonly wentOnMs: number;
  /** The time when the scheduled message was due. */
  readonly dueMs: number;
  /** The time when the message with the short time to live had expired. */
  readonly shortUntilMs: number;
  readonly sent: Readonly<Record<Kind, Sent>>;
  readonly blamed: readonly string[];
}

export interface AppOfPhones extends MixedApp {
  readonly devices: number;
}

/** A webhook request that its receiver could not verify. */
export interface Refused {
  readonly atMs: number;
  /** The second in which it was signed, by the clock that signed it. */
  readonly signedMs: number;
  readonly reason: string;
}

export interface World {
  readonly service: RunningService;
  readonly app: AppOfPhones;
  /** Makes an app with this many devices of each platform, and some more for `refuse`. */
  newApp(name: string, devicesEach: number): Promise<AppOfPhones>;
  readonly refused: number;
  /** Real time, in milliseconds since the epoch. */
  nowMs(): number;
  take(step: Step): Promise<Taken>;
  /** Sets all clocks to real time. */
  setRight(): Promise<void>;
  /** Some devices of each channel are refused until they are accepted again. */
  refuse(isRefusing: boolean): Promise<void>;
  /** Suspends a node's process. Its wall clock goes on, and its steady clock stands still. */
  suspend(node: number): Promise<{ readonly fromMs: number; wake(): Promise<void> }>;
  /** Credentials and webhooks that the service holds to be at fault. */
  listBlamed(): Promise<string[]>;
  readonly webhook: {
    /** Requests that the receiver could not verify. */
    readonly refused: readonly Refused[];
    /** Message and device of each event that the receiver acknowledged. */
    readonly told: ReadonlySet<string>;
  };
}

export async function startWorld(workbench: Workbench, devicesEach: number, seed: number): Promise<World> {
  const endpoint = await startWebhookEndpoint(workbench);
  const directory = await workbench.makeDirectory('clocks');
  const clockOf = (name: string): ProcessClock => createProcessClock(join(directory, `${name}.clock`));
  const nodes = Array.from({ length: 1 + workers }, (_, index) => clockOf(`node-${index}`));
  const sandbox = clockOf('sandbox');
  const service = await startRunningService(workbench, workers, {
    clocks: { nodes: nodes.map(({ options }) => options), sandbox: sandbox.options },
    endpoint,
    environment: { WEBHOOK_RETRY_SCHEDULE: '2,4,8,16,32,60,60,60,60,60' },
  });
  const newApp: World['newApp'] = async (name, count) => {
    const made = await service.newApp(name);
    for (const plan of [...platforms.map((platform) => ({ platform, count })), ...refusals]) {
      const named = { count: refusedEach, ...plan, seed: `${seed} ${name} ${plan.platform}` };
      await addDevices(service.database.sql, made, service.sandbox, named, () => undefined);
    }
    return { ...made, devices: platforms.length * count + refusals.length * refusedEach };
  };
  const app = await newApp('Clocks', devicesEach);

  const ahead = { nodes: 0, database: 0, world: 0 };
  const behindMs = nodes.map(() => 0);
  const nowMs = (): number => Date.now() + ahead.world;
  const setNodes = (): void => {
    for (const [index, clock] of nodes.entries()) clock.set(ahead.nodes, behindMs[index]);
  };
  const setDatabase = (): Promise<void> => setDatabaseClock(service.database.sql, ahead.database);
  const suspend: World['suspend'] = async (index) => {
    const node = service.nodes[index];
    const stoppedAt = performance.now();
    const stopped = await node?.signalWorker('SIGSTOP');
    return {
      fromMs: (stopped?.at ?? 0) + ahead.world,
      async wake() {
        behindMs[index] = (behindMs[index] ?? 0) + performance.now() - stoppedAt;
        setNodes();
        await node?.signalWorker('SIGCONT', stopped?.pids);
      },
    };
  };
  /** Resolves when the receivers have everything that the suspended service had sent. */
  const untilQuiet = async (): Promise<void> => {
    for (let before = -1; ; ) {
      const { requests } = await service.sandbox.counters();
      const received = requests + endpoint.received.length;
      if (received === before) return;
      before = received;
      await sleep(50);
    }
  };

  const { secret } = await service.addWebhook(app, endpoint.urlOf('/clocks'));
  const refused: Refused[] = [];
  const told = new Set<string>();
  endpoint.answer = ({ body, signature }, response) => {
    try {
      const { data } = verifyWebhook(body, signature, secret, { nowMs: nowMs() });
      told.add(`${data.message_id} ${data.device_id}`);
      response.writeHead(200).end();
    } catch (error) {
      const signedMs = Number(/t=(\d+)/.exec(signature)?.[1]) * 1_000;
      refused.push({ atMs: nowMs(), signedMs, reason: String(error) });
      response.writeHead(401).end();
    }
  };

  return {
    service,
    app,
    newApp,
    refused: refusals.length * refusedEach,
    nowMs,
    async take({ kind, byMs }) {
      const asleep = kind === 'sleep' ? await Promise.all(nodes.map((_, index) => suspend(index))) : [];
      if (kind === 'sleep') {
        await untilQuiet();
        ahead.world += byMs;
        sandbox.set(ahead.world);
      }
      const fromMs = nowMs();
      if (kind !== 'host') {
        ahead.database += byMs;
        await setDatabase();
      }
      if (kind !== 'database') {
        ahead.nodes += byMs;
        setNodes();
      }
      const toMs = nowMs();
      await Promise.all(asleep.map(({ wake }) => wake()));
      return { fromMs, toMs };
    },
    async setRight() {
      ahead.nodes = ahead.world;
      ahead.database = ahead.world;
      setNodes();
      await setDatabase();
    },
    async refuse(isRefusing) {
      const rules = refusals.map(({ tokenPrefix, status }) => {
        return {
          match: { token_prefix: tokenPrefix },
          action: { type: 'status', status, retry_after: retryAfterSeconds },
        };
      });
      await service.sandbox.setFaults(isRefusing ? rules : []);
    },
    suspend,
    async listBlamed() {
      const rows = await service.database.sql<{ channel: string; state: string; failures: number }[]>`
        SELECT channel, state, 0 AS failures FROM credentials WHERE state <> 'ok'
        UNION ALL SELECT 'webhook', state, failures FROM webhooks WHERE state <> 'enabled' OR failures > 0`;
      return rows.map((row) => JSON.stringify(row));
    },
    webhook: { refused, told },
  };
}
