// Worker nodes on a database of their own, with webhooks whose events the proof itself puts into
// the outbox, as flushes do.
import { setTimeout as sleep } from 'node:timers/promises';
import { createClock, type SettableClock } from '../../server/src/ground/database/clock.ts';
import { parseOutboundExceptions } from '../../server/src/ground/outbound/address-guard.ts';
import { createSeal, type Seal } from '../../server/src/ground/secrets/seal.ts';
import { decodeId, mintUuid, type Uuid } from '../../server/src/ground/values/ids.ts';
import { createWebhook } from '../../server/src/sending/webhooks/manage-webhooks.ts';
import { findWebhook, insertEvents, type StoredWebhook } from '../../server/src/sending/webhooks/queries.ts';
import { webhooksMax } from '../../server/src/sending/webhooks/webhook.ts';
import { serviceActor } from '../../server/src/teams/audit/actor.ts';
import { certificateFile } from './certificate.ts';
import { runCommand } from './command.ts';
import { armedWith, type FailpointPlan } from './failpoints.ts';
import { type RunDatabase, startRunDatabase } from './run-database.ts';
import { type ServiceNode, startNode } from './service-node.ts';
import { startWebhookEndpoint, type WebhookEndpoint } from './webhook-endpoint.ts';
import type { Workbench } from './workbench.ts';

export interface Hook {
  readonly appId: Uuid;
  readonly id: Uuid;
  /** The path at the endpoint. */
  readonly path: string;
}

export interface WebhookNodesPlan {
  readonly nodes: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly failpoints?: FailpointPlan;
}

export class WebhookNodes {
  readonly database: RunDatabase;
  readonly endpoint: WebhookEndpoint;
  readonly nodes: readonly ServiceNode[];
  readonly clock: SettableClock;
  readonly seal: Seal;
  readonly #newApp: () => Promise<Uuid>;
  #made = 0;
  #appId: Uuid | undefined;

  private constructor(
    parts: Pick<WebhookNodes, 'database' | 'endpoint' | 'nodes' | 'clock' | 'seal'>,
    newApp: () => Promise<Uuid>,
  ) {
    this.database = parts.database;
    this.endpoint = parts.endpoint;
    this.nodes = parts.nodes;
    this.clock = parts.clock;
    this.seal = parts.seal;
    this.#newApp = newApp;
  }

  static async start(workbench: Workbench, plan: WebhookNodesPlan): Promise<WebhookNodes> {
    const directory = await workbench.makeDirectory('webhooks');
    const database = await startRunDatabase(workbench);
    const endpoint = await startWebhookEndpoint(workbench);
    const environment = {
      ...database.environment,
      OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
      OUTBOUND_ALLOW_PORTS: String(endpoint.port),
      OUTBOUND_CA_FILE: certificateFile,
      ...plan.environment,
    };
    const newApp = async (): Promise<Uuid> => {
      const { id } = await runCommand<{ id: string }>(environment, directory, 'app', 'create', 'Told');
      return decodeId('app', id) ?? '';
    };
    // Creates the instance's row before several nodes try to.
    await newApp();
    const armed = plan.failpoints && (await armedWith(plan.failpoints));
    const nodes = await Promise.all(
      Array.from({ length: plan.nodes }, (_, index) =>
        startNode(workbench, {
          name: `worker-${index}`,
          role: 'worker',
          directory,
          environment: { ...environment, ...armed?.environment },
          nodeOptions: armed?.nodeOptions ?? [],
        }),
      ),
    );
    await Promise.all(nodes.map((node) => node.ready()));
    const clock = await createClock(database.sql);
    const seal = createSeal(Buffer.from(database.environment['MASTER_KEY'] ?? '', 'base64'));
    return new WebhookNodes({ database, endpoint, nodes, clock, seal }, newApp);
  }

  /** Dependencies of the operations that manage webhooks. */
  get deps() {
    return { sql: this.database.sql, clock: this.clock, by: serviceActor('proof'), seal: this.seal };
  }

  async newHook(): Promise<Hook> {
    const number = this.#made++;
    if (number % webhooksMax === 0 || this.#appId === undefined) this.#appId = await this.#newApp();
    const appId = this.#appId;
    const path = `/hooks/${number}`;
    const exceptions = parseOutboundExceptions({
      allowCidrs: ['127.0.0.0/8'],
      allowPorts: String(this.endpoint.port),
    });
    const made = { appId, endpoint: this.endpoint.urlOf(path), events: [] };
    const { id } = await createWebhook(this.deps, { exceptions, ownHosts: [] }, made);
    return { appId, id, path };
  }

  /** Puts `many` events into a webhook's outbox, as a flush does, and notifies the nodes. */
  async happen({ appId, id }: Hook, many: number): Promise<void> {
    const atOnce = 5_000;
    for (let left = many; left > 0; left -= atOnce) {
      const nowMs = this.clock.nowMs();
      const events = Array.from({ length: Math.min(left, atOnce) }, () => ({
        webhookId: id,
        id: mintUuid(nowMs),
        kind: 0,
        messageId: mintUuid(),
        deviceId: mintUuid(),
        channel: 0,
        atMs: nowMs,
        errorCode: null,
        details: null,
      }));
      await insertEvents(this.database.sql, this.clock, appId, events);
    }
  }

  async stored({ id }: Hook): Promise<StoredWebhook> {
    const found = await findWebhook(this.database.sql, id);
    if (!found) throw new Error('a webhook is gone');
    return found;
  }

  async left({ appId, id }: Hook): Promise<number> {
    const [row] = await this.database.sql<{ count: number }[]>`
      SELECT count(*) FROM webhook_events WHERE app_id = ${appId} AND webhook_id = ${id}`;
    return row?.count ?? 0;
  }
}

/** Resolves with whether the condition became true in time. */
export async function comesTrue(holds: () => Promise<boolean> | boolean, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    if (await holds()) return true;
    if (performance.now() > deadline) return false;
    await sleep(50);
  }
}
