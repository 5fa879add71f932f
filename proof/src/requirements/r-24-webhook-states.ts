// counts at the endpoint how many requests a webhook gets, on one node and on four. The
// endpoints are: one that is dead from the start, one that dies at its full window, one that
// recovers just in time, one that is enabled again, and one whose worker is killed.
import { setTimeout as sleep } from 'node:timers/promises';
import { comesTrue, type Hook, WebhookNodes } from '../../../rig/src/webhook-nodes.ts';
import { enableWebhook } from '../../../server/src/sending/webhooks/manage-webhooks.ts';
import { listAttempts } from '../../../server/src/sending/webhooks/queries.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

const withinMs = 120_000;
/** Time in which an excess request would have arrived. */
const settleMs = 1_500;
const failuresMax = 15;
const windowMost = 64;

type Prove = (place: WebhookNodes, options: ProofOptions) => Promise<void>;

const on = ({ nodes }: WebhookNodes): string => (nodes.length === 1 ? 'one node' : `${nodes.length} nodes`);

const isDisabled = async (place: WebhookNodes, hook: Hook): Promise<boolean> =>
  (await place.stored(hook)).state === 'disabled';

async function allDisabled(place: WebhookNodes, hooks: readonly Hook[]): Promise<boolean> {
  for (const hook of hooks) if (!(await isDisabled(place, hook))) return false;
  return true;
}

const proveDead: Prove = async (place, { isQuick, report, seed }) => {
  const { endpoint } = place;
  const hooks: Hook[] = [];
  for (let i = 0; i < (isQuick ? 4 : 40); i++) hooks.push(await place.newHook());
  let requests = 0;
  endpoint.answer = (_request, response) => {
    // The endpoint refuses, breaks off, or refuses after a delay.
    switch ((seed + requests++) % 3) {
      case 0:
        return void response.writeHead(500).end();
      case 1:
        return void response.destroy();
      default:
        return void setTimeout(() => response.writeHead(503).end(), 20 + ((seed + requests) % 50));
    }
  };
  await Promise.all(hooks.map((hook) => place.happen(hook, 200)));
  const complaints: string[] = [];
  if (!(await comesTrue(() => allDisabled(place, hooks), withinMs))) complaints.push('not all were disabled in time');
  // Later events must reach none of the endpoints either.
  await Promise.all(hooks.map((hook) => place.happen(hook, 20)));
  await sleep(settleMs);
  let lost = 0;
  for (const hook of hooks) {
    const count = endpoint.countOf(hook.path);
    const attempts = await listAttempts(place.database.sql, hook.appId, hook.id);
    // On a busy machine some requests time out before they arrive.
    const lostHere = attempts.filter(({ error }) => error !== 'http_status' && error !== 'reset').length;
    lost += lostHere;
    if (attempts.length !== failuresMax) complaints.push(`${hook.path} has ${attempts.length} attempts in its log`);
    if (count > failuresMax || count < failuresMax - lostHere) complaints.push(`${hook.path} got ${count} requests`);
    if ((await place.left(hook)) !== 220) complaints.push(`${hook.path} does not hold all of its events`);
  }
  const counts = hooks.map(({ path }) => endpoint.countOf(path));
  report.claim(
    `${on(place)}: dead from the start, it gets exactly 15 requests and is disabled`,
    `${hooks.length} webhooks with 200 events, ${Math.min(...counts)} to ${Math.max(...counts)} requests each, ${lost} attempts lost on the way`,
    complaints,
  );
};

const proveDying: Prove = async (place, { isQuick, report }) => {
  const { endpoint } = place;
  const complaints: string[] = [];
  const after: number[] = [];
  const open: number[] = [];
  for (let round = 0; round < (isQuick ? 2 : 20); round++) {
    const hook = await place.newHook();
    let failed = 0;
    let isDead = false;
    let fullWindows = 0;
    endpoint.answer = (request, response) => {
      if (request.path !== hook.path) return void response.writeHead(200).end();
      // The endpoint dies while its window is full, so that all requests in flight fail, too.
      if (!isDead && endpoint.inFlight >= windowMost && ++fullWindows > 3) {
        isDead = true;
        open.push(endpoint.inFlight);
      }
      // Slow enough that the window fills.
      setTimeout(() => {
        if (isDead) failed++;
        response.writeHead(isDead ? 500 : 200).end();
      }, 50);
    };
    await place.happen(hook, 20_000);
    if (!(await comesTrue(() => isDisabled(place, hook), withinMs))) complaints.push(`${hook.path} was not disabled`);
    await sleep(settleMs);
    if (!isDead) complaints.push(`${hook.path} never had a full window`);
    if (failed > failuresMax + windowMost) complaints.push(`${hook.path} got ${failed} requests after it had died`);
    after.push(failed);
  }
  report.claim(
    `${on(place)}: dying at its full window, it gets at most 15 requests and those under way`,
    `${after.length} webhooks, ${Math.min(...open)} to ${Math.max(...open)} under way, ${Math.min(...after)} to ${Math.max(...after)} failed in all`,
    complaints,
  );
};

const proveRecovery: Prove = async (place, { report }) => {
  const { endpoint } = place;
  const hook = await place.newHook();
  let seen = 0;
  endpoint.answer = (request, response) => {
    if (request.path !== hook.path) return void response.writeHead(200).end();
    response.writeHead(++seen === failuresMax ? 200 : 500).end();
  };
  const complaints: string[] = [];
  // Events come one after another, so that requests complete in the order of their answers.
  const failOnce = async (expected: number): Promise<void> => {
    await place.happen(hook, 1);
    const isCounted = async () => seen >= expected && (await place.stored(hook)).failures === expected % failuresMax;
    if (!(await comesTrue(isCounted, withinMs))) complaints.push(`request ${expected} was not counted`);
  };
  // Retries of these events come much later, so each new event is a first attempt.
  for (let i = 1; i < 2 * failuresMax; i++) await failOnce(i);
  const { state, failures } = await place.stored(hook);
  if (state !== 'enabled' || failures !== failuresMax - 1) complaints.push(`it is ${state} with ${failures} failures`);
  await place.happen(hook, 1);
  if (!(await comesTrue(() => isDisabled(place, hook), withinMs))) complaints.push('one more did not disable it');
  report.claim(
    `${on(place)}: 14 failures, a success and 14 failures leave it enabled, and one more does not`,
    `${seen} requests`,
    complaints,
  );
};

const proveEnabling: Prove = async (place, { report }) => {
  const { endpoint } = place;
  const hook = await place.newHook();
  let isWell = false;
  let held: (() => void) | undefined;
  endpoint.answer = (request, response) => {
    if (request.path !== hook.path || isWell) return void response.writeHead(200).end();
    if (held === undefined) return void response.writeHead(500).end();
    held = () => response.writeHead(204).end();
  };
  await place.happen(hook, 500);
  const complaints: string[] = [];
  if (!(await comesTrue(() => isDisabled(place, hook), withinMs))) complaints.push('it was not disabled');
  const before = endpoint.countOf(hook.path);
  held = () => undefined;
  await enableWebhook(place.deps, hook);
  await place.happen(hook, 1);
  if (!(await comesTrue(() => endpoint.countOf(hook.path) > before, withinMs))) complaints.push('there was no probe');
  await sleep(settleMs);
  const probes = endpoint.countOf(hook.path) - before;
  if (probes !== 1) complaints.push(`${probes} requests came before the probe was answered`);
  isWell = true;
  held();
  if (!(await comesTrue(async () => (await place.left(hook)) === 0, withinMs))) complaints.push('events are left');
  report.claim(
    `${on(place)}: enabled again, it is probed once, and the rest follows the 2xx`,
    `${probes} probe, then ${endpoint.countOf(hook.path) - before - probes} requests for 501 events`,
    complaints,
  );
};

const proveKilled: Prove = async (place, { isQuick, report }) => {
  const { endpoint } = place;
  const complaints: string[] = [];
  const counts: number[] = [];
  let kills = 0;
  for (let round = 0; round < (isQuick ? 1 : 5); round++) {
    const hook = await place.newHook();
    let lost = 0;
    endpoint.answer = (request, response) => {
      if (request.path !== hook.path) return void response.writeHead(200).end();
      // Requests in flight get no answer once their process is gone.
      setTimeout(() => response.writeHead(500).end(), 300);
    };
    await place.happen(hook, 200);
    await comesTrue(() => endpoint.countOf(hook.path) >= 5, withinMs);
    lost = endpoint.inFlight;
    for (const node of place.nodes) kills += (await node.signalWorker('SIGKILL')).pids.length;
    if (!(await comesTrue(() => isDisabled(place, hook), withinMs))) complaints.push(`${hook.path} was not disabled`);
    await sleep(settleMs);
    const count = endpoint.countOf(hook.path);
    counts.push(count);
    if (count > failuresMax + Math.max(lost, 10)) complaints.push(`${count} requests, ${lost} were under way`);
  }
  report.claim(
    `${on(place)}: kills add no more than what was under way`,
    `${kills} kills, ${counts.join(', ')} requests`,
    [...complaints, ...(kills === 0 ? ['nothing was killed'] : [])],
  );
};

export const requirement: Requirement = {
  number: 'R-24',
  title: 'A failing webhook gets 15 requests and no more, on one node and on four',
  leftOut: 'starts two databases and five nodes, and one more for each kill',
  async run(options) {
    for (const nodes of [1, 4]) {
      const workbench = options.workbench.apart();
      try {
        const environment = {
          // A retry would be a request that the counts here do not expect.
          WEBHOOK_RETRY_SCHEDULE: '3600,3600',
          WEBHOOK_FAILURE_PAUSE_MAX_MS: '0',
        };
        const place = await WebhookNodes.start(workbench, { nodes, environment });
        for (const prove of [proveDead, proveDying, proveRecovery, proveEnabling, proveKilled]) {
          await prove(place, options);
        }
      } finally {
        await workbench.close();
      }
    }
  },
};
