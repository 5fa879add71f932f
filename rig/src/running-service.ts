// A complete service: a database, the sandbox, an API and workers as separate processes, and a
// caller's requests to them. Tests read the providers' view from the sandbox's history after the
// sandbox has ended.
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from './command.ts';
import type { ArmedOptions } from './failpoints.ts';
import { type MixedApp, makeMixedApp, type RunPlace } from './mixed-app.ts';
import { findFreePort } from './ports.ts';
import { type RunDatabase, startRunDatabase } from './run-database.ts';
import { type HistoryLine, type SandboxProcess, startSandboxProcess } from './sandbox-process.ts';
import { type ServiceNode, startNode } from './service-node.ts';
import { installDatabaseClock } from './settable-clocks.ts';
import { allowEndpoint, type WebhookEndpoint } from './webhook-endpoint.ts';
import type { Workbench } from './workbench.ts';

export interface MessageState {
  readonly status: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly report: Readonly<Record<string, number>>;
  readonly error_counts: Readonly<Record<string, number>>;
}

export interface RunningService {
  readonly database: RunDatabase;
  readonly sandbox: SandboxProcess;
  /** The API first, and then the workers. */
  readonly nodes: readonly ServiceNode[];
  /** Adds a webhook for all events. */
  addWebhook(app: MixedApp, url: string): Promise<{ readonly id: string; readonly secret: string }>;
  newApp(name: string): Promise<MixedApp>;
  /** Suspends an app, which ends its sends. */
  suspend(app: MixedApp): Promise<void>;
  /**
   * Sends a message and returns its id. Repeats a request that an overloaded API refuses with 503,
   * and throws any other refusal.
   */
  send(app: MixedApp, message: object): Promise<string>;
  messageOf(app: MixedApp, id: string): Promise<MessageState>;
  /** Resolves when no delivery of a message is open any more. */
  untilFinal(app: MixedApp, id: string): Promise<MessageState>;
  /** Ends the sandbox and passes each request that it saw to `look`. */
  readHistory(look: (line: HistoryLine) => void): Promise<void>;
}

export interface RunClocks {
  /** The options of each node, the API's first. */
  readonly nodes: readonly ArmedOptions[];
  readonly sandbox: ArmedOptions;
}

export interface RunOptions {
  /**
   * Options that give processes clocks which a proof sets, as it sets the database's
   * (`settable-clocks.ts`).
   */
  readonly clocks?: RunClocks;
  /** A customer's endpoint that the nodes may reach. */
  readonly endpoint?: WebhookEndpoint;
  readonly environment?: Readonly<Record<string, string>>;
}

export async function startRunningService(
  workbench: Workbench,
  workers: number,
  { clocks, endpoint, environment }: RunOptions = {},
): Promise<RunningService> {
  const directory = await workbench.makeDirectory('run');
  const database = await startRunDatabase(workbench);
  if (clocks) await installDatabaseClock(database.sql);
  const sandbox = await startSandboxProcess(workbench, directory, clocks?.sandbox);
  const reachable = endpoint && (await allowEndpoint(directory, sandbox, endpoint));
  const port = await findFreePort();
  const place: RunPlace = {
    directory,
    environment: {
      ...database.environment,
      ...sandbox.environment,
      ...reachable,
      ...environment,
      PORT: String(port),
      SEND_WAIT_MS: '0',
    },
  };
  const roles = ['api' as const, ...Array.from({ length: workers }, () => 'worker' as const)];
  const nodes = await Promise.all(
    roles.map((role, index) => {
      const clock = clocks?.nodes[index];
      return startNode(workbench, {
        name: `${role}-${index}`,
        role,
        environment: { ...place.environment, ...clock?.environment },
        nodeOptions: clock?.nodeOptions ?? [],
        directory,
      });
    }),
  );
  await Promise.all(nodes.map((node) => node.ready()));

  const ask = async <Json>({ serverKey }: MixedApp, path: string, body?: object): Promise<Json> => {
    const request = {
      method: body ? 'POST' : 'GET',
      headers: {
        authorization: `Bearer ${serverKey}`,
        'content-type': 'application/json',
        // The same request again is the same message.
        ...(body && { 'idempotency-key': randomUUID() }),
      },
      ...(body && { body: JSON.stringify(body) }),
    };
    let response = await fetch(`http://127.0.0.1:${port}${path}`, request);
    while (response.status === 503) {
      await response.arrayBuffer();
      await sleep(Number(response.headers.get('retry-after') ?? 1) * 1000);
      response = await fetch(`http://127.0.0.1:${port}${path}`, request);
    }
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${response.status} to ${path}: ${text}`);
    return JSON.parse(text) as Json;
  };
  const messageOf = (app: MixedApp, id: string) => ask<MessageState>(app, `/v1/messages/${id}`);
  return {
    database,
    sandbox,
    nodes,
    addWebhook: (app, url) => runCommand(place.environment, directory, 'webhook', 'create', app.id, url),
    newApp: (name) => makeMixedApp(place, sandbox, name),
    suspend: async (app) => void (await runCommand(place.environment, directory, 'app', 'suspend', app.id)),
    send: async (app, message) => (await ask<{ id: string }>(app, '/v1/messages', message)).id,
    messageOf,
    async untilFinal(app, id) {
      for (;;) {
        const message = await messageOf(app, id);
        if (message.status !== 'sending') return message;
        await sleep(100);
      }
    },
    async readHistory(look) {
      await sandbox.stop();
      const lines = createInterface({ input: createReadStream(sandbox.historyFile) });
      for await (const line of lines) look(JSON.parse(line) as HistoryLine);
    },
  };
}
