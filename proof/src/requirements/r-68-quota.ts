// R-68: a monthly quota is never exceeded: by clients that race for it at four nodes, by 256 at
// once, and by nodes that are killed while they charge it.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiAnswer, type ApiNode, type ApiNodes, callApi, startApiNodes } from '../../../rig/src/api-nodes.ts';
import { createRandom } from '../../../rig/src/random.ts';
import { type SandboxProcess, startSandboxProcess } from '../../../rig/src/sandbox-process.ts';
import type { Workbench } from '../../../rig/src/workbench.ts';
import { decodeId } from '../../../server/src/ground/values/ids.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

const plan = 'counted';
const nodesCount = 4;
const content = { title: 'Sale', body: 'Now on' };

interface Place {
  readonly api: ApiNodes;
  readonly sandbox: SandboxProcess;
  readonly quota: number;
}

interface App {
  readonly id: string;
  readonly server_key: string;
  /**
   * A device that is reached, and a device that is skipped because its channel has no credential.
   */
  readonly reached: string;
  readonly skipped: string;
}

interface Answer {
  readonly id?: string;
  readonly error?: string;
}

async function startPlace(workbench: Workbench, quota: number): Promise<Place> {
  const directory = await workbench.makeDirectory('sandbox');
  const sandbox = await startSandboxProcess(workbench, directory);
  const plansFile = join(directory, 'plans.json');
  const rates = { sk_per_second: null, ck_per_second: null };
  await writeFile(plansFile, JSON.stringify({ plans: { [plan]: { ...rates, quota: { per_month: quota } } } }));
  const environment = { ...sandbox.environment, PLANS_FILE: plansFile, DEFAULT_PLAN: plan };
  const api = await startApiNodes(workbench, { count: nodesCount, hasWorker: true, environment });
  return { api, sandbox, quota };
}

async function makeApp({ api, sandbox }: Place): Promise<App> {
  const app = await api.run<Pick<App, 'id' | 'server_key'>>('app', 'create', 'Racing');
  const { public_key: vapidKey } = await api.run<{ public_key: string }>('channel', 'set', app.id, 'webpush');
  const { value: token } = await sandbox
    .makeMany('/subscriptions', { count: 1, vendor: 'generic', vapid_key: vapidKey })
    .next();
  const register = async (body: object): Promise<string> => {
    const url = `${api.nodes[0]?.url}/v1/devices`;
    const { json } = await callApi<Answer>(url, { method: 'POST', key: app.server_key, body });
    if (json.id === undefined) throw new Error(`a device was refused: ${JSON.stringify(json)}`);
    return json.id;
  };
  return {
    ...app,
    reached: await register({ platform: 'web', token }),
    skipped: await register({ platform: 'ios', token: 'ab'.repeat(32) }),
  };
}

function send(node: ApiNode, app: App, device: string, idempotencyKey: string): Promise<ApiAnswer<Answer>> {
  return callApi<Answer>(`${node.url}/v1/messages`, {
    method: 'POST',
    key: app.server_key,
    body: { audience: { device_ids: [device] }, content },
    headers: { 'idempotency-key': idempotencyKey },
  });
}

interface Totals {
  readonly messages: number;
  readonly open: number;
  readonly accepted: number;
  readonly skipped: number;
  readonly used: number;
}

async function totalsOf({ api }: Place, app: App): Promise<Totals> {
  const id = decodeId('app', app.id) ?? '';
  const [row] = await api.database.sql<Totals[]>`
    SELECT count(*)::int AS messages, (count(*) FILTER (WHERE status = 'sending'))::int AS open,
      coalesce(sum(webpush_accepted + apns_accepted), 0)::int AS accepted,
      coalesce(sum(webpush_skipped + apns_skipped), 0)::int AS skipped,
      (SELECT coalesce(sum(used), 0)::int FROM usage WHERE app_id = ${id}) AS used
    FROM messages WHERE app_id = ${id}`;
  if (!row) throw new Error('there are no totals');
  return row;
}

/** Milliseconds for which a busy node may answer 503. */
const patienceMs = 300_000;

/**
 * Clients at each node send to one device until the quota refuses. A node that is too busy is asked
 * again with the same key.
 */
async function proveRace(
  place: Place,
  { report }: ProofOptions,
  clients: number,
  nodes: readonly ApiNode[],
): Promise<void> {
  const app = await makeApp(place);
  const complaints: string[] = [];
  let accepted = 0;
  let keys = 0;
  const deadline = performance.now() + patienceMs;
  const sendAll = async (node: ApiNode): Promise<void> => {
    for (let key = `race-${keys++}`; ; ) {
      const { status, json } = await send(node, app, app.reached, key);
      if (status === 503 && performance.now() < deadline) {
        await sleep(200);
        continue;
      }
      key = `race-${keys++}`;
      if (status === 200) accepted++;
      else if (status === 429 && json.error === 'quota_exceeded') return;
      else return void complaints.push(`${status} ${JSON.stringify(json)}`);
    }
  };
  await Promise.all(nodes.flatMap((node) => Array.from({ length: clients }, () => sendAll(node))));
  const totals = await totalsOf(place, app);
  if (accepted !== place.quota) complaints.push(`${accepted} were accepted`);
  if (totals.used !== place.quota || totals.accepted !== place.quota)
    complaints.push(`stored: ${JSON.stringify(totals)}`);
  report.claim(
    `${clients * nodes.length} callers at ${nodes.length === 1 ? 'one node' : `${nodes.length} nodes`}: exactly the quota is accepted, and charged`,
    `${accepted} of ${place.quota}, ${totals.used} charged`,
    complaints,
  );
}

const clientsWhileKilled = 16;
const killEveryMs = { least: 300, most: 1200 };
const openAfterMs = 120_000;

/**
 * Clients repeat unanswered requests, half of them to a device that is skipped, while nodes are
 * killed and come back.
 */
async function proveKills(place: Place, { report, isQuick, seed }: ProofOptions): Promise<void> {
  const app = await makeApp(place);
  const random = createRandom(seed);
  const nodes = [...place.api.nodes];
  const killsMost = isQuick ? 3 : 50;
  const ids = new Map<string, string>();
  const complaints: string[] = [];
  let kills = 0;
  let isDone = false;

  const sendOne = async (idempotencyKey: string, device: string): Promise<boolean> => {
    for (let attempt = 0; ; attempt++) {
      const node = nodes[attempt % nodes.length];
      const answer = node && (await send(node, app, device, idempotencyKey).catch(() => undefined));
      if (answer?.status === 200) {
        ids.set(idempotencyKey, answer.json.id ?? '');
        return true;
      }
      if (answer?.status === 429 && answer.json.error === 'quota_exceeded') return false;
      if (answer && answer.status < 500) complaints.push(`${answer.status} ${JSON.stringify(answer.json)}`);
      await sleep(50);
    }
  };
  const client = async (number: number): Promise<void> => {
    for (let i = 0; !isDone; i++) {
      const wasSent = await sendOne(`proof-${seed}-${number}-${i}`, i % 2 === 0 ? app.reached : app.skipped);
      // The quota is used up for now; skipped deliveries are refunded later.
      if (!wasSent) await sleep(200);
    }
  };
  const kill = async (): Promise<void> => {
    for (; kills < killsMost; kills++) {
      await sleep(killEveryMs.least + random.below(killEveryMs.most - killEveryMs.least));
      const index = random.below(nodes.length);
      const killed = nodes[index];
      if (!killed) continue;
      await killed.node.kill();
      nodes[index] = await killed.again();
    }
    isDone = true;
  };
  await Promise.all([kill(), ...Array.from({ length: clientsWhileKilled }, (_, number) => client(number))]);

  const deadline = performance.now() + openAfterMs;
  let totals = await totalsOf(place, app);
  while (totals.open > 0 && performance.now() < deadline) {
    await sleep(500);
    totals = await totalsOf(place, app);
  }
  if (totals.open > 0) complaints.push(`${totals.open} messages are still being sent`);
  if (totals.used !== totals.accepted - totals.skipped)
    complaints.push('what was used is not what was accepted and not skipped');
  if (totals.used > place.quota) complaints.push(`${totals.used} of ${place.quota} are used`);
  if (totals.messages !== ids.size) complaints.push(`${totals.messages} messages for ${ids.size} keys`);
  if (new Set(ids.values()).size !== ids.size) complaints.push('two keys have one message');
  if (totals.skipped === 0) complaints.push('nothing was skipped');
  report.claim(
    `${kills} kills of API nodes: charged is what was accepted and not skipped, and no more than the quota`,
    `${totals.used} of ${place.quota} charged; ${totals.messages} messages, ${totals.skipped} skipped`,
    complaints,
  );
}

export const requirement: Requirement = {
  number: 'R-68',
  title: 'A monthly quota is never oversold',
  leftOut: 'lets 256 callers race twice and kills nodes, which takes more than a minute',
  async run(options) {
    const place = await startPlace(options.workbench, options.isQuick ? 100 : 1000);
    const { nodes } = place.api;
    await proveRace(place, options, 64, nodes);
    await proveRace(place, options, 256, nodes.slice(0, 1));
    await proveKills(place, options);
  },
};
