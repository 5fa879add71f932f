// Sends messages of all sizes until it is told to stop, some at once and some scheduled, so that
// every kill falls into the middle of work. Each request has an Idempotency-Key and is repeated
// until it is answered, as a careful caller does.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';
import type { MadeDevice } from '../../../rig/src/mixed-app.ts';
import type { Random } from '../../../rig/src/random.ts';
import { countOpenBatches } from './busy.ts';
import { type AudienceLine, fileNames, type LineWriter, writeLines } from './history-files.ts';

export interface SenderPlan {
  readonly directory: string;
  readonly apiUrl: string;
  readonly serverKey: string;
  readonly seed: number;
  readonly random: Random;
  readonly devices: readonly MadeDevice[];
  /** An app that gets messages only through `sendProbe`. */
  readonly probe: ProbeApp | undefined;
  readonly sql: Sql;
}

export interface ProbeApp {
  readonly serverKey: string;
  readonly devices: readonly MadeDevice[];
}

export interface Sender {
  /** Messages requested so far. */
  readonly requested: number;
  /** Sum over all messages of the devices in their audiences. */
  readonly addressed: number;
  /** Requests one message to all devices of the probe's app now. Resolves with its id. */
  sendProbe(): Promise<string>;
  /** Resolves once every request is answered. */
  stop(): Promise<void>;
}

/** Behind more due batches than this, a batch that lost its holder would wait in a long queue. */
const dueBatchesMax = 4;
/** With more batches than this, pushes would wait for seconds in the sandbox. */
const openBatchesMax = 6;
const askedMax = 4;
/**
 * Half of what the sandbox can decrypt on one core. R-02 counts milliseconds, which no machine
 * keeps that has more work than it can do.
 */
const devicesPerSecond = 400;
const answerWithinMs = 30_000;
/**
 * One in this many messages is scheduled, a little later than the API's minimum, because the
 * request is repeated until it is answered.
 */
const scheduledEvery = 8;
const scheduledAheadMs = 75_000;

export function startSending(plan: SenderPlan): Sender {
  const { random, devices, sql } = plan;
  const audiences = writeLines<AudienceLine>(plan.directory, fileNames.audiences);
  const asked = new Set<Promise<unknown>>();
  let isStopping = false;
  let failure: unknown;
  let requested = 0;
  let addressed = 0;

  const send = (size: number, sendAt?: string): Promise<string> => {
    const ids = Array.from({ length: Math.min(size, devices.length) }, (_, index) => {
      return devices[(addressed + index) % devices.length]?.id ?? '';
    });
    addressed += ids.length;
    return askFor(plan.serverKey, ids, sendAt);
  };
  const askFor = (serverKey: string, ids: readonly string[], sendAt?: string): Promise<string> => {
    requested++;
    const asking = ask(plan, { serverKey, number: requested, devices: ids, sendAt }, audiences);
    asked.add(asking);
    const done = (): void => void asked.delete(asking);
    asking.then(done, done);
    return asking;
  };
  const startedAt = performance.now();
  const sendAll = async (): Promise<void> => {
    while (!isStopping) {
      const isAhead = addressed > ((performance.now() - startedAt) / 1000) * devicesPerSecond;
      if (isAhead || asked.size >= askedMax || !(await hasRoom(sql))) {
        await sleep(25);
        continue;
      }
      const size = sizeOf(random);
      const isLater = random.below(scheduledEvery) === 0;
      const sendAt = isLater ? new Date(Date.now() + scheduledAheadMs).toISOString() : undefined;
      send(size, sendAt).catch((error: unknown) => {
        failure ??= error;
      });
    }
    await Promise.allSettled(asked);
    await audiences.close();
  };
  const sending = sendAll();
  sending.catch(() => undefined);
  return {
    get requested() {
      return requested;
    },
    get addressed() {
      return addressed;
    },
    async sendProbe() {
      if (!plan.probe) throw new Error('the run has no app for probes');
      const { serverKey, devices: some } = plan.probe;
      return askFor(
        serverKey,
        some.map(({ id }) => id),
      );
    },
    async stop() {
      isStopping = true;
      await sending;
      if (failure) throw failure;
    },
  };
}

/** Sizes of audiences: the accepting process works small ones, several workers share large ones. */
function sizeOf(random: Random): number {
  const [least, most] = random.pick([
    [5, 50],
    [51, 400],
    [51, 400],
    [400, 1500],
    [1500, 3000],
  ] as const);
  return least + random.below(most - least + 1);
}

/** Whether the nodes may get more work. False while the database does not answer. */
async function hasRoom(sql: Sql): Promise<boolean> {
  const open = await countOpenBatches(sql);
  return open !== undefined && open.due < dueBatchesMax && open.due + open.worked < openBatchesMax;
}

interface Asked {
  readonly serverKey: string;
  readonly number: number;
  readonly devices: readonly string[];
  readonly sendAt: string | undefined;
}

/**
 * Repeats a request until it is answered: a killed node gives no answer, and its client cannot know
 * what it had done.
 */
async function ask(
  plan: SenderPlan,
  { serverKey, number, devices, sendAt }: Asked,
  audiences: LineWriter<AudienceLine>,
): Promise<string> {
  const title = `Chaos ${number}`;
  for (;;) {
    const response = await fetch(`${plan.apiUrl}/v1/messages`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${serverKey}`,
        'content-type': 'application/json',
        'idempotency-key': `chaos-${plan.seed}-${number}`,
      },
      body: JSON.stringify({
        audience: { device_ids: devices },
        content: { title, body: 'Is anybody there?' },
        ...(sendAt !== undefined && { send_at: sendAt }),
      }),
      signal: AbortSignal.timeout(answerWithinMs),
    }).catch(() => undefined);
    const body = (await response?.json().catch(() => undefined)) as { id: string } | undefined;
    if (response?.status === 200 && body) {
      await audiences.write({ title, id: body.id, devices });
      return body.id;
    }
    if (response && body && response.status < 500)
      throw new Error(`${title}: ${response.status} ${JSON.stringify(body)}`);
    await sleep(100);
  }
}
