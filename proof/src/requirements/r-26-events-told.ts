// every outcome is told. Messages are sent while workers are killed at each commit boundary
// between an outcome and the acknowledgement of its webhook. The events that the endpoint got,
// without repeats, must equal the deliveries.
import { join } from 'node:path';
import { runCommand } from '../../../rig/src/command.ts';
import { armedWith, type FailpointRule, listFired } from '../../../rig/src/failpoints.ts';
import { addDevices, makeMixedApp } from '../../../rig/src/mixed-app.ts';
import { findFreePort } from '../../../rig/src/ports.ts';
import { startRunDatabase } from '../../../rig/src/run-database.ts';
import { startSandboxProcess } from '../../../rig/src/sandbox-process.ts';
import { startNode } from '../../../rig/src/service-node.ts';
import { allowEndpoint, startWebhookEndpoint } from '../../../rig/src/webhook-endpoint.ts';
import { comesTrue } from '../../../rig/src/webhook-nodes.ts';
import type { Workbench } from '../../../rig/src/workbench.ts';
import { encodeId, type Uuid } from '../../../server/src/ground/values/ids.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

const workers = 2;
/** Long enough for the leases of killed processes to run out one after another. */
const withinMs = 300_000;
/** A killed process may have had a full window of requests in flight. */
const windowMost = 64;

/** The failpoints between an outcome and the acknowledgement of its event. */
const places = [
  'outcomes.before_commit',
  'outcomes.after_commit',
  'webhook.after_response',
  'webhook.before_ack_commit',
] as const;

function rulesOf({ isQuick, seed }: ProofOptions): FailpointRule[] {
  const rounds = isQuick ? 1 : 5;
  return Array.from({ length: rounds }, (_, round) =>
    places.map((name, i): FailpointRule => {
      // Answers pass this failpoint one by one, commits by the dozen.
      const least = name === 'webhook.after_response' ? 40 : 2;
      return { name, action: 'kill', hit: least + ((seed + round * 7 + i * 3) % (least * 2)) };
    }),
  ).flat();
}

async function prove(workbench: Workbench, options: ProofOptions): Promise<void> {
  const { isQuick, seed, report } = options;
  const directory = await workbench.makeDirectory('told');
  const database = await startRunDatabase(workbench);
  const sandbox = await startSandboxProcess(workbench, directory);
  const endpoint = await startWebhookEndpoint(workbench);
  const port = await findFreePort();
  const environment = {
    ...database.environment,
    ...sandbox.environment,
    ...(await allowEndpoint(directory, sandbox, endpoint)),
    PORT: String(port),
    SEND_WAIT_MS: '0',
  };
  const app = await makeMixedApp({ directory, environment }, sandbox, 'Told');
  await runCommand(environment, directory, 'webhook', 'create', app.id, endpoint.urlOf('/hooks'));
  const devices = isQuick ? 600 : 10_000;
  const perMessage = 3;
  await addDevices(
    database.sql,
    app,
    sandbox,
    { count: devices, platform: 'web', seed: `told ${seed}` },
    () => undefined,
  );

  const plan = { directory: join(directory, 'failpoints'), rules: rulesOf(options) };
  const armed = await armedWith(plan);
  const start = (name: string, role: 'api' | 'worker', isArmed: boolean) =>
    startNode(workbench, {
      name,
      role,
      directory,
      environment: isArmed ? { ...environment, ...armed.environment } : environment,
      nodeOptions: isArmed ? armed.nodeOptions : [],
    });
  const nodes = [
    await start('api', 'api', false),
    ...(await Promise.all(Array.from({ length: workers }, (_, i) => start(`worker-${i}`, 'worker', true)))),
  ];
  await Promise.all(nodes.map((node) => node.ready()));
  for (let i = 0; i < perMessage; i++) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.serverKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ audience: { all: true }, content: { title: `Told ${i}` } }),
    });
    if (response.status !== 200) throw new Error(`a message was refused: ${await response.text()}`);
  }

  const { sql } = database;
  const isOver = async (): Promise<boolean> => {
    const open = await sql`SELECT 1 FROM messages WHERE status = 'sending' LIMIT 1`;
    const untold = await sql`SELECT 1 FROM webhook_events LIMIT 1`;
    return open.length === 0 && untold.length === 0;
  };
  const complaints: string[] = [];
  if (!(await comesTrue(isOver, withinMs))) complaints.push('messages or events are still under way');
  const outcomes = await sql<{ messageId: Uuid; deviceId: Uuid; status: string }[]>`
    SELECT b.message_id, d.device_id, d.status FROM deliveries d JOIN batches b ON b.id = d.batch_id`;
  const told = new Map<string, Set<string>>();
  for (const { body, eventId } of endpoint.received) {
    const { event, data } = JSON.parse(body) as { event: string; data: { message_id: string; device_id: string } };
    const name = `${data.message_id} ${data.device_id} ${event}`;
    told.set(name, (told.get(name) ?? new Set()).add(eventId));
  }
  const untold = outcomes.filter(
    ({ messageId, deviceId }) => !told.has(`${encodeId('msg', messageId)} ${encodeId('dev', deviceId)} message.sent`),
  );
  if (outcomes.length !== devices * perMessage) complaints.push(`there are ${outcomes.length} outcomes`);
  if (untold.length > 0) complaints.push(`${untold.length} outcomes were told to nobody`);
  if (told.size !== outcomes.length) complaints.push(`${told.size} events were told, for ${outcomes.length} outcomes`);
  const doubled = [...told.values()].filter((ids) => ids.size !== 1);
  if (doubled.length > 0) complaints.push(`${doubled.length} outcomes have more than one event`);
  const fired = await listFired(plan);
  const kills = fired.filter(({ name }) => name.startsWith('webhook.')).length;
  if (fired.length < plan.rules.length / 2) complaints.push(`only ${fired.length} processes were killed`);
  report.claim(
    'every outcome has one event, and each was told',
    `${outcomes.length.toLocaleString('en')} outcomes, ${told.size.toLocaleString('en')} told; ${fired.length} kills`,
    complaints,
  );
  const repeated = endpoint.received.length - told.size;
  report.claim(
    'what was told twice was under way when its process was killed',
    `${repeated} of ${endpoint.received.length.toLocaleString('en')} requests, ${fired.length} kills, ${kills} of them at webhooks`,
    repeated <= fired.length * windowMost ? [] : [`${repeated} were repeated`],
  );
}

export const requirement: Requirement = {
  number: 'R-26',
  title: 'Every outcome is told, whichever process is killed in between',
  leftOut: 'waits for the leases of killed processes, one after the other',
  async run(options) {
    await prove(options.workbench, options);
  },
};
