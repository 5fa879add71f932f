// A soak from an empty database to its facts: the built service as processes, and an app with all
// three channels. Providers say goodbye, cut connections, refuse pushes and call devices gone while
// all devices are sent to repeatedly.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';
import { peakRssMbOf } from '../../../rig/src/measure.ts';
import { addDevices, type MadeDevice, type MixedApp, makeMixedApp, type RunPlace } from '../../../rig/src/mixed-app.ts';
import { findFreePort } from '../../../rig/src/ports.ts';
import { startRunDatabase } from '../../../rig/src/run-database.ts';
import { type SandboxProcess, startSandboxProcess } from '../../../rig/src/sandbox-process.ts';
import { type ServiceNode, startNode } from '../../../rig/src/service-node.ts';
import { progress, type Workbench } from '../../../rig/src/workbench.ts';
import { checkSoak, type SoakFacts } from './check.ts';
import { deadPrefix, deadShare, faultsOf, type SoakScale, scaleOf } from './script.ts';

export interface SoakPlan {
  readonly sends: number;
  readonly seed: number;
}

export interface Soaked extends SoakFacts {
  readonly scale: SoakScale;
  readonly seconds: number;
  /** A sentence for each message whose numbers do not add up. */
  readonly disagreements: readonly string[];
  /** FCM connections with more streams than FCM allows. */
  readonly streamsExceeded: number;
  /** The sandbox's peak memory in megabytes: after a quarter of the messages, and at the end. */
  readonly sandboxMb: readonly [early: number, late: number];
  /** The peak memory of the largest process of the service, in megabytes. */
  readonly serviceMb: number;
}

export async function runSoak(workbench: Workbench, { sends, seed }: SoakPlan): Promise<Soaked> {
  const scale = scaleOf(sends);
  const directory = await workbench.makeDirectory('soak');
  const database = await startRunDatabase(workbench);
  const sandbox = await startSandboxProcess(workbench, directory);
  const port = await findFreePort();
  const place: RunPlace = {
    directory,
    environment: { ...database.environment, ...sandbox.environment, PORT: String(port), SEND_WAIT_MS: '2000' },
  };
  const apiUrl = `http://127.0.0.1:${port}`;
  const app = await makeMixedApp(place, sandbox, 'Soak');
  const devices = await makeDevices(database.sql, app, sandbox, scale.devices, seed);
  await sandbox.setFaults(faultsOf(scale, seed));
  const nodes = await startNodes(workbench, place);

  const startedAt = performance.now();
  const messages = new Map<string, string>();
  for (let number = 1; number <= scale.messages; number += 1) {
    const title = `Soak ${number}`;
    messages.set(await send(apiUrl, app, title), title);
  }
  const early = await watch(database.sql, sandbox, sends, scale.messages);
  const seconds = (performance.now() - startedAt) / 1_000;

  const late = await peakRssMbOf(sandbox.pid);
  const { streams_exceeded: streamsExceeded } = await sandbox.counters();
  const serviceMb = await peakOf(nodes);
  const disagreements = await listDisagreements(apiUrl, app, [...messages.values()]);
  for (const node of nodes) await node.terminate();
  await sandbox.stop();
  const facts = await checkSoak({ sql: database.sql, historyFile: sandbox.historyFile, devices, messages });
  return { ...facts, scale, seconds, disagreements, streamsExceeded, sandboxMb: [early, late], serviceMb };
}

async function makeDevices(
  sql: Sql,
  app: MixedApp,
  sandbox: SandboxProcess,
  count: number,
  seed: number,
): Promise<MadeDevice[]> {
  const made: MadeDevice[] = [];
  for (const [i, platform] of (['web', 'ios', 'android'] as const).entries()) {
    const all = Math.floor((count + i) / 3);
    const dead = Math.max(1, Math.round(all * deadShare));
    const keep = (some: readonly MadeDevice[]): void => void made.push(...some);
    await addDevices(sql, app, sandbox, { platform, count: all - dead, seed: `soak ${seed}` }, keep);
    const gone = { platform, count: dead, seed: `soak ${seed}`, tokenPrefix: deadPrefix };
    await addDevices(sql, app, sandbox, gone, keep);
  }
  progress(`  ${made.length} devices`);
  return made;
}

async function startNodes(workbench: Workbench, place: RunPlace): Promise<ServiceNode[]> {
  const nodes: ServiceNode[] = [];
  for (const [i, role] of (['api', 'worker', 'worker'] as const).entries()) {
    const { environment, directory } = place;
    nodes.push(await startNode(workbench, { name: `${role}-${i}`, role, environment, directory }));
  }
  await Promise.all(nodes.map((node) => node.ready()));
  return nodes;
}

async function send(apiUrl: string, app: MixedApp, title: string): Promise<string> {
  const response = await fetch(`${apiUrl}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.serverKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ audience: { all: true }, content: { title, body: 'The same, again and again.' } }),
  });
  if (!response.ok) throw new Error(`${title}: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { id: string }).id;
}

const sentWithinMs = 30 * 60_000;

/**
 * Waits until every message has ended, or for a time limit; the check names messages that did not
 * end. Resolves with the sandbox's peak memory after a quarter of the sends.
 */
async function watch(sql: Sql, sandbox: SandboxProcess, sends: number, messages: number): Promise<number> {
  const deadline = performance.now() + sentWithinMs;
  let early: number | undefined;
  let told = 0;
  for (;;) {
    const { requests } = await sandbox.counters();
    if (requests >= sends / 4) early ??= await peakRssMbOf(sandbox.pid);
    if (requests >= told + sends / 4) {
      told = requests;
      progress(`  ${requests.toLocaleString('en')} pushes`);
    }
    const [row] = await sql<{ open: number; all: number }[]>`
      SELECT count(*) FILTER (WHERE status = 'sending')::int AS open, count(*)::int AS all FROM messages`;
    const isOver = performance.now() > deadline;
    if (isOver) progress(`  not sent after ${sentWithinMs / 60_000} minutes`);
    if (isOver || (row && row.open === 0 && row.all >= messages)) return early ?? (await peakRssMbOf(sandbox.pid));
    await sleep(500);
  }
}

async function peakOf(nodes: readonly ServiceNode[]): Promise<number> {
  const pids = (await Promise.all(nodes.map((node) => node.workerPids()))).flat();
  return Math.max(...(await Promise.all(pids.map(peakRssMbOf))));
}

/** Compares the numbers that callers are told with each other. */
async function listDisagreements(apiUrl: string, app: MixedApp, titles: readonly string[]): Promise<string[]> {
  const response = await fetch(`${apiUrl}/v1/messages?limit=200`, {
    headers: { authorization: `Bearer ${app.serverKey}` },
  });
  const { data } = (await response.json()) as { data: readonly Told[] };
  const wrong = data.filter(({ status, report: { accepted, sent, failed, skipped, pending = 0 } }) => {
    return status !== 'sent' || pending > 0 || accepted !== sent + failed + skipped;
  });
  const untold = titles.filter((title) => !data.some((told) => told.title === title));
  return [...untold.map((title) => `${title} is not there`), ...wrong.map((told) => JSON.stringify(told))];
}

interface Told {
  readonly title: string;
  readonly status: string;
  readonly report: {
    readonly accepted: number;
    readonly sent: number;
    readonly failed: number;
    readonly skipped: number;
    readonly pending?: number;
  };
}
