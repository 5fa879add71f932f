// API nodes that share one database, each at its own address, as behind a load balancer, and a
// client that calls any of them.
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { runCommand } from './command.ts';
import { findFreePort } from './ports.ts';
import { type RunDatabase, startRunDatabase } from './run-database.ts';
import { type ServiceNode, startNode } from './service-node.ts';
import type { Workbench } from './workbench.ts';

export interface ApiNode {
  readonly url: string;
  readonly node: ServiceNode;
  /** Starts a node in the place of one that has ended. */
  again(): Promise<ApiNode>;
}

export interface ApiNodes {
  readonly directory: string;
  readonly database: RunDatabase;
  readonly nodes: readonly ApiNode[];
  /** Runs one command of the command line on the nodes' database. */
  run<Json>(...parameters: readonly string[]): Promise<Json>;
}

export interface ApiNodesPlan {
  readonly count: number;
  /** Whether a worker node runs beside them and works the batches that they leave. */
  readonly hasWorker?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts `count` nodes on a new database and resolves when all of them answer. */
export async function startApiNodes(workbench: Workbench, plan: ApiNodesPlan): Promise<ApiNodes> {
  const { count, hasWorker = false, environment } = plan;
  const directory = await workbench.makeDirectory('nodes');
  const database = await startRunDatabase(workbench);
  const told = { ...database.environment, ...environment };
  const start = async (index: number): Promise<ApiNode> => {
    const port = await findFreePort();
    const node = await startNode(workbench, {
      name: `api-${index}-${port}`,
      role: 'api',
      directory,
      environment: { ...told, PORT: String(port) },
    });
    await node.ready();
    return { url: `http://127.0.0.1:${port}`, node, again: () => start(index) };
  };
  const nodes = await Promise.all(Array.from({ length: count }, (_, index) => start(index)));
  if (hasWorker) {
    const worker = await startNode(workbench, { name: 'worker', role: 'worker', directory, environment: told });
    await worker.ready();
  }
  return { directory, database, nodes, run: (...parameters) => runCommand(told, directory, ...parameters) };
}

export interface ApiCall {
  readonly method?: 'GET' | 'POST';
  readonly key: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiAnswer<Json> {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly json: Json;
}

// A backend has about this many connections. Thousands at once would measure how connections are
// opened.
const agent = new Agent({ keepAlive: true, maxSockets: 128 });
/** Milliseconds to wait for an answer on a busy machine. */
const answerWithinMs = 300_000;

/** Rejects when there is no answer. */
export function callApi<Json>(url: string, { method = 'GET', key, body, headers }: ApiCall): Promise<ApiAnswer<Json>> {
  return new Promise((resolve, reject) => {
    const payload = body && Buffer.from(JSON.stringify(body));
    const asked = request(
      url,
      {
        method,
        agent,
        timeout: answerWithinMs,
        headers: {
          authorization: `Bearer ${key}`,
          ...(payload && { 'content-type': 'application/json', 'content-length': payload.length }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const json = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Json;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, json });
        });
      },
    );
    asked.on('timeout', () => asked.destroy(new Error(`${url}: no answer within ${answerWithinMs} ms`)));
    asked.on('error', reject);
    asked.end(payload);
  });
}
