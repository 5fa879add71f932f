// the same request, sent 200 times at once over three nodes, makes one message.
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProofOptions, Requirement } from '../requirement.ts';
import { type Asked, judgeSentOnce } from '../sent-once.ts';
import { type Api, Stage } from '../stage.ts';

const nodes = 3;
const requestsAtOnce = 200;
/** In a smoke run, milliseconds for which a request to a busy node is repeated. */
const patienceMs = 120_000;
/** The accepting node works small audiences; a worker works large ones. */
const audiences = [1, 20, 50, 60, 300];

interface Round {
  readonly asked: Asked;
  readonly complaints: readonly string[];
}

/**
 * Repeats the request while the answer is 503, which a busy machine may give to some of 200
 * concurrent requests. The key makes repeating safe.
 */
async function sendPatiently(stage: Stage, api: Api, idempotencyKey: string, message: object) {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const answer = await stage.send(api, idempotencyKey, message);
    if (answer?.status !== 503 || performance.now() > deadline) return answer;
    await sleep(1_000);
  }
}

async function askAtOnce(stage: Stage, apis: readonly Api[], round: number, isQuick: boolean): Promise<Round> {
  const devices = stage.devices.slice(0, audiences[round % audiences.length]);
  const title = `Round ${round}`;
  const idempotencyKey = `proof-r10-${round}`;
  const message = { audience: { device_ids: devices.map(({ id }) => id) }, content: { title, body: 'Once.' } };
  const answers = await Promise.all(
    Array.from({ length: requestsAtOnce }, (_, index) => {
      const api = apis[index % apis.length];
      if (api === undefined) throw new Error('There are no nodes.');
      return isQuick ? sendPatiently(stage, api, idempotencyKey, message) : stage.send(api, idempotencyKey, message);
    }),
  );
  const complaints: string[] = [];
  const failed = answers.filter((answer) => answer?.status !== 200);
  if (failed.length > 0) {
    complaints.push(`${title}: ${failed.length} answers were not 200, the first ${JSON.stringify(failed[0])}`);
  }
  const ids = new Set(answers.map((answer) => answer?.body['id']));
  if (ids.size !== 1) complaints.push(`${title}: the answers name ${ids.size} messages`);
  const fresh = answers.filter((answer) => answer?.body['replayed'] === false).length;
  if (fresh !== 1) complaints.push(`${title}: ${fresh} answers say that they are no replay`);
  const replayed = answers.filter((answer) => answer?.body['replayed'] === true).length;
  if (replayed !== requestsAtOnce - 1) complaints.push(`${title}: ${replayed} answers say that they are a replay`);
  return { asked: { idempotencyKey, title, devices, id: String([...ids][0]) }, complaints };
}

async function run({ isQuick, seed, report, workbench }: ProofOptions): Promise<void> {
  const stage = await Stage.set({ workbench, purpose: 'idempotency', devices: Math.max(...audiences), seed });
  const apis = await Promise.all(Array.from({ length: nodes }, () => stage.startApi()));
  await stage.startWorker();
  const rounds: Round[] = [];
  for (let round = 0; round < (isQuick ? 2 : 25); round += 1) rounds.push(await askAtOnce(stage, apis, round, isQuick));
  report.claim(
    `${requestsAtOnce} identical requests at once over ${nodes} nodes are one message: one fresh answer, the rest replays, no error`,
    `${rounds.length} rounds, ${(rounds.length * requestsAtOnce).toLocaleString('en')} requests`,
    rounds.flatMap(({ complaints }) => complaints),
  );
  const asked = rounds.map((each) => each.asked);
  report.claim(
    'it is stored and charged once, and each device gets one push',
    `${asked.reduce((total, { devices }) => total + devices.length, 0).toLocaleString('en')} deliveries`,
    await judgeSentOnce(stage, asked),
  );
}

export const requirement: Requirement = {
  number: 'R-10',
  title: 'Idempotency over several nodes',
  run,
};
