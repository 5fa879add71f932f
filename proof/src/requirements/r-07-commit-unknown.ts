// the connection to the database breaks between COMMIT and its reply, so the service cannot
// know the result. A caller that repeats the request with the same Idempotency-Key must still get
// exactly one message.

import { type CommitCut, startDatabaseProxy } from '../../../rig/src/database-proxy.ts';
import { createRandom } from '../../../rig/src/random.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';
import { type Asked, judgeSentOnce } from '../sent-once.ts';
import { type Api, Stage } from '../stage.ts';

const audiences = [1, 5, 30, 60, 200];
/**
 * Only sizes that workers send: an accepting process that does not know its commit's result makes
 * its batches wait for a lease of 20 seconds.
 */
const audiencesQuick = [60, 200];
const attemptsMax = 50;
/**
 * The pools that store messages: one for messages to everybody, and one for those that are
 * scheduled or go to a few ids.
 */
const pools = { all: 'carillon long', few: 'carillon transactions' } as const;
const scheduledAheadMs = 45_000;

interface Told {
  readonly id: string;
  readonly statuses: readonly (number | undefined)[];
}

/** Repeats the request until it is answered, as a careful caller does. */
async function askUntilAnswered(stage: Stage, api: Api, idempotencyKey: string, message: object): Promise<Told> {
  const statuses: (number | undefined)[] = [];
  while (statuses.length < attemptsMax) {
    const answer = await stage.send(api, idempotencyKey, message);
    statuses.push(answer?.status);
    if (answer?.status === 200) return { id: String(answer.body['id']), statuses };
  }
  return { id: 'no message', statuses };
}

async function run({ isQuick, seed, report, workbench }: ProofOptions): Promise<void> {
  const drops = isQuick ? 4 : 100;
  const random = createRandom(seed);
  const stage = await Stage.set({ workbench, purpose: 'commit-unknown', devices: Math.max(...audiences), seed });
  const proxied = await startDatabaseProxy(stage.database.url);
  workbench.onClose(() => proxied.proxy.close());
  const api = await stage.startApi({ environment: { DATABASE_URL: proxied.url, SEND_WAIT_MS: '200' } });
  await stage.startWorker();
  const asked: Asked[] = [];
  const complaints: string[] = [];
  const counts: Record<CommitCut, number> = { lost: 0, unheard: 0 };
  let toAll = 0;
  let retried = 0;
  for (let drop = 0; drop < drops; drop += 1) {
    // Most cuts are of the harder kind: the COMMIT is carried out, and its reply is lost.
    const cut: CommitCut = drop % 4 === 3 ? 'lost' : 'unheard';
    const isScheduled = !isQuick && random.below(5) === 0;
    const devices = stage.devices.slice(0, random.pick(isQuick ? audiencesQuick : audiences));
    const title = `Drop ${drop}`;
    const idempotencyKey = `proof-r07-${drop}`;
    const isToAll = !isScheduled && devices.length === stage.devices.length;
    const message = {
      audience: isToAll ? { all: true } : { device_ids: devices.map(({ id }) => id) },
      content: { title, body: 'Committed, or not?' },
      ...(isScheduled && { send_at: new Date(Date.now() + scheduledAheadMs).toISOString() }),
    };
    let isCut = false;
    void proxied.cutNextCommit(cut, isToAll ? pools.all : pools.few).then(() => {
      isCut = true;
    });
    const { id, statuses } = await askUntilAnswered(stage, api, idempotencyKey, message);
    if (!isCut) complaints.push(`${title}: no COMMIT was cut`);
    counts[cut] += 1;
    if (isToAll) toAll += 1;
    if (statuses.length > 1) retried += 1;
    // Until the last attempt a caller may get no answer or 503, and never an answer that blames the
    // caller or reports a bug.
    const isToldToRepeat = statuses.slice(0, -1).every((status) => status === undefined || status === 503);
    if (!isToldToRepeat || statuses.at(-1) !== 200) complaints.push(`${title}: answered ${statuses.join(', ')}`);
    asked.push({ idempotencyKey, title, devices, id });
  }
  const unanswered =
    retried === drops ? [] : [`${drops - retried} requests were answered at once, as if nothing had been cut`];
  report.claim(
    'a COMMIT without a reply, then asked again: an answer, and one message for each key',
    `${counts.unheard} replies not heard, ${counts.lost} COMMITs lost, ${retried} requests repeated, ${toAll} messages to everybody`,
    [...complaints, ...unanswered],
  );
  report.claim(
    'each message is stored and charged once, and each device gets one push',
    `${asked.reduce((total, { devices }) => total + devices.length, 0).toLocaleString('en')} deliveries`,
    await judgeSentOnce(stage, asked),
  );
}

export const requirement: Requirement = { number: 'R-07', title: 'A commit whose reply is not heard', run };
