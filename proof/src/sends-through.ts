// A large send with a disturbance in its middle. Afterwards each device must have had one request,
// every delivery must be sent, and no process may have ended.
import { setTimeout as sleep } from 'node:timers/promises';
import type { HistoryLine } from '../../rig/src/sandbox-process.ts';
import type { ServiceNode } from '../../rig/src/service-node.ts';
import { decodeId } from '../../server/src/ground/values/ids.ts';
import type { Api, Stage } from './stage.ts';

/** The sandbox's latency, so that pushes are in flight when something happens. */
const providerMs = 200;
const pollMs = 20;

export const slowProvider = { match: {}, action: { type: 'slow', delay_ms: providerMs } };

export interface Sent {
  readonly title: string;
  readonly id: string;
}

/** Requests a message to all devices. */
export async function sendToAll(stage: Stage, api: Pick<Api, 'url'>, title: string): Promise<Sent> {
  const answer = await stage.send(api, title.replaceAll(' ', '-'), { audience: { all: true }, content: { title } });
  const id = answer?.body['id'];
  if (answer?.status !== 200 || typeof id !== 'string') throw new Error(`no message: ${JSON.stringify(answer)}`);
  return { title, id };
}

/** Resolves when `count` more requests than `before` have reached the sandbox. */
export async function untilRequests({ sandbox }: Stage, before: number, count: number): Promise<void> {
  while ((await sandbox.counters()).requests < before + count) await sleep(pollMs);
}

/** The working processes as text, to compare with a later call. */
export async function listWorkers(nodes: readonly ServiceNode[]): Promise<string> {
  return JSON.stringify(await Promise.all(nodes.map((node) => node.workerPids())));
}

interface Tally {
  readonly status: string;
  readonly accepted: number;
  readonly sent: number;
  readonly codes: Readonly<Record<string, number>>;
  readonly claimsMax: number;
  readonly faultsMax: number;
}

/** The database's counts for the message with this title. */
export async function tallyOf({ database }: Stage, title: string): Promise<Tally> {
  const [row] = await database.sql<Tally[]>`
    SELECT m.status, m.error_counts AS codes, sum(b.size)::int AS accepted, sum(b.sent)::int AS sent,
      max(b.claims)::int AS claims_max, max(b.faults)::int AS faults_max
    FROM messages m JOIN batches b ON b.message_id = m.id WHERE m.title = ${title} GROUP BY m.app_id, m.id`;
  if (!row) throw new Error(`there is no message ${title}`);
  return row;
}

/**
 * Complaints about a finished message unless it was sent to everybody and no claim of it ended
 * irregularly.
 */
export async function judgeTally(stage: Stage, title: string): Promise<string[]> {
  const { status, accepted, sent, codes, claimsMax, faultsMax } = await tallyOf(stage, title);
  const complaints: string[] = [];
  if (status !== 'sent' || sent !== accepted) complaints.push(`${title}: ${status}, ${sent} of ${accepted} sent`);
  if (accepted !== stage.devices.length) complaints.push(`${title}: accepted for ${accepted} devices`);
  if (Object.keys(codes).length > 0) complaints.push(`${title}: failed with ${JSON.stringify(codes)}`);
  if (claimsMax > 1 || faultsMax > 0)
    complaints.push(`${title}: a batch counts ${claimsMax} claims and ${faultsMax} faults`);
  return complaints;
}

/** Ends the sandbox. Claims that each device had one request for each message. */
export async function judgePushes(stage: Stage, titles: readonly string[]) {
  const pushes = await stage.listPushes();
  const complaints: string[] = [];
  let [repeated, lost] = [0, 0];
  for (const title of titles) {
    for (const { id, token } of stage.devices) {
      const some = pushes.get(`${title} ${token}`) ?? [];
      if (some.length === 1) continue;
      if (some.length === 0) lost++;
      else repeated += some.length - 1;
      const isTold = complaints.length < toldMax;
      complaints.push(
        `${title}: ${token} had ${some.length} requests${isTold ? await explain(stage, title, id, some) : ''}`,
      );
    }
  }
  return {
    complaints,
    figure: `${titles.length * stage.devices.length} deliveries, ${lost} lost, ${repeated} repeated`,
  };
}

const toldMax = 20;

/**
 * Describes a delivery: the times and answers of its requests, and the attempts that the service
 * has recorded.
 */
async function explain(
  { database }: Stage,
  title: string,
  deviceId: string,
  pushes: readonly HistoryLine[],
): Promise<string> {
  const id = decodeId('dev', deviceId) ?? '';
  const [row] = await database.sql<{ attempts: number; latencyMs: number | null; timeline: unknown; doneAt: Date }[]>`
    SELECT d.attempts, d.latency_ms, d.timeline, d.done_at FROM messages m JOIN batches b ON b.message_id = m.id
      JOIN deliveries d ON d.batch_id = b.id WHERE m.title = ${title} AND d.device_id = ${id}`;
  const requests = pushes.map(([, at, status, , , , , connection]) => {
    return `${new Date(at).toISOString().slice(11)} answered ${status} on connection ${connection}`;
  });
  return `: ${requests.join(', ')}; recorded: ${JSON.stringify(row ?? null)}`;
}
