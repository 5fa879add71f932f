// One fuzz run: starts a service with two apps and sends the requests of the seed. Afterwards it
// searches the service's log for secrets and values from the requests.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../../../rig/src/command.ts';
import { type AppKeys, askAll, canary, type Finding, type Stage, setStage } from '../../../rig/src/fuzz/ask-all.ts';
import { percentile, rounded } from '../../../rig/src/measure.ts';
import { findFreePort } from '../../../rig/src/ports.ts';
import { startRunDatabase } from '../../../rig/src/run-database.ts';
import { startNode } from '../../../rig/src/service-node.ts';
import type { Workbench } from '../../../rig/src/workbench.ts';

export interface Fuzzed {
  readonly requests: number;
  readonly seed: number;
  readonly findings: readonly Finding[];
  readonly statuses: Readonly<Record<string, number>>;
  readonly ms_p99: number;
}

export async function runFuzz(
  workbench: Workbench,
  { requests, seed }: { readonly requests: number; readonly seed: number },
): Promise<Fuzzed> {
  const { stage, logFile, secrets } = await startStage(workbench);
  const { findings, statuses, times } = await askAll(stage, { requests, seed });
  const log = await readFile(logFile, 'utf8');
  const told = secrets.filter((secret) => log.includes(secret)).map((secret) => `${secret.slice(0, 8)}…`);
  const leak = { operation: 'log', rule: 'it holds a secret', times: told.length, sample: told.join(', ') };
  const all = told.length > 0 ? [...findings, leak] : findings;
  return { requests, seed, findings: all, statuses, ms_p99: rounded(percentile([...times], 0.99)) };
}

interface Started {
  readonly stage: Stage;
  readonly logFile: string;
  readonly secrets: readonly string[];
}

async function startStage(workbench: Workbench): Promise<Started> {
  const directory = await workbench.makeDirectory('fuzz');
  const database = await startRunDatabase(workbench);
  const port = await findFreePort();
  const environment = { ...database.environment, PORT: String(port), SEND_WAIT_MS: '100', LOG_LEVEL: 'debug' };
  const node = await startNode(workbench, { name: 'api', role: 'api', environment, directory });
  await node.ready();
  const makeApp = async (name: string): Promise<AppKeys> => {
    const parameters = ['app', 'create', name, '--plan', 'unlimited'];
    const made = await runCommand<{ server_key: string; client_key: string }>(environment, directory, ...parameters);
    return { serverKey: made.server_key, clientKey: made.client_key };
  };
  const [app, stranger] = [await makeApp('Fuzz'), await makeApp(`Stranger ${canary}`)];
  return {
    stage: await setStage(`http://127.0.0.1:${port}`, app, stranger),
    logFile: join(directory, 'api.log'),
    secrets: [app, stranger]
      .flatMap(({ serverKey, clientKey }) => [serverKey, clientKey])
      .concat(database.environment['MASTER_KEY'] ?? [], database.url),
  };
}
