// a node dies between its commit and its reply. The caller has heard nothing and repeats the
// request.

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { listFired } from '../../../rig/src/failpoints.ts';
import { createRandom } from '../../../rig/src/random.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';
import { type Asked, judgeSentOnce } from '../sent-once.ts';
import { type Api, Stage } from '../stage.ts';

/** Small audiences are worked by the node that dies, large ones by a worker. */
const audiences = [1, 5, 30, 60, 200];
/** One in this many messages is scheduled. */
const scheduledEvery = 10;
const scheduledAheadMs = 45_000;

interface Doomed {
  readonly api: Api;
  readonly failpoints: { readonly directory: string };
}

/** Starts a node that kills itself when it is about to answer the first message. */
async function startDoomed(stage: Stage, number: number): Promise<Doomed> {
  const directory = join(stage.directory, `failpoints-${number}`);
  const rules = [{ name: 'message.before_reply', hit: 1, action: 'kill' }] as const;
  return { api: await stage.startApi({ failpoints: { directory, rules } }), failpoints: { directory } };
}

async function run({ isQuick, seed, report, workbench }: ProofOptions): Promise<void> {
  const kills = isQuick ? 2 : 200;
  const random = createRandom(seed);
  const stage = await Stage.set({ workbench, purpose: 'before-reply', devices: Math.max(...audiences), seed });
  const survivor = await stage.startApi();
  await stage.startWorker();
  const asked: Asked[] = [];
  const complaints: string[] = [];
  let following = startDoomed(stage, 0);
  for (let kill = 0; kill < kills; kill += 1) {
    const { api, failpoints } = await following;
    // The next node starts while this one dies.
    following = kill + 1 < kills ? startDoomed(stage, kill + 1) : following;
    following.catch(() => undefined);
    const devices = stage.devices.slice(0, random.pick(audiences));
    const title = `Kill ${kill}`;
    const idempotencyKey = `proof-r13-${kill}`;
    const message = {
      audience: { device_ids: devices.map(({ id }) => id) },
      content: { title, body: 'Did you hear?' },
      ...(!isQuick &&
        kill % scheduledEvery === 1 && { send_at: new Date(Date.now() + scheduledAheadMs).toISOString() }),
    };
    const first = await stage.send(api, idempotencyKey, message);
    if (first !== undefined) complaints.push(`${title}: the node answered ${JSON.stringify(first)}`);
    if ((await listFired(failpoints)).length !== 1) complaints.push(`${title}: the node did not die where it should`);
    const committed = await stage.messagesOf(idempotencyKey);
    await sleep(random.below(50));
    const again = await stage.send(survivor, idempotencyKey, message);
    const id = String(again?.body['id']);
    if (again?.status !== 200 || again.body['replayed'] !== true || committed.length !== 1 || committed[0] !== id) {
      complaints.push(`${title}: ${committed.join(', ') || 'nothing'} was committed, then ${JSON.stringify(again)}`);
    }
    asked.push({ idempotencyKey, title, devices, id });
    await api.node.kill();
    if ((kill + 1) % 20 === 0) report.progress(`  ${kill + 1} kills`);
  }
  report.claim(
    'killed between commit and reply, then asked again: a replay, with the id that was committed',
    `${kills} kills`,
    complaints,
  );
  report.claim(
    'each message is stored and charged once, and each device gets one push',
    `${asked.reduce((total, { devices }) => total + devices.length, 0).toLocaleString('en')} deliveries`,
    await judgeSentOnce(stage, asked),
  );
}

export const requirement: Requirement = { number: 'R-13', title: 'A kill between commit and reply', run };
