// Shares encryption between the calling thread and a second one. Most of a web push's cost is
// arithmetic on the curve, so a busy process keeps both cores at work. A push that comes alone is
// encrypted at once on the calling thread, without waiting for the second thread.
import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { encrypt } from './encrypt.ts';
import { type EncryptJob, packJobs, unpackBodies } from './encrypt-batch.ts';

export interface Encryptor {
  /** The request body; undefined when `p256dh` is not a point on P-256. */
  encrypt(plaintext: Buffer, p256dh: Buffer, auth: Buffer): Promise<Buffer | undefined> | Buffer | undefined;
  close(): Promise<void>;
}

/** Encrypts at once, on the calling thread. */
export const inlineEncryptor: Encryptor = { encrypt, close: async () => undefined };

/**
 * Jobs that go to the thread in one message: enough that the message costs little per job, and few
 * enough that the thread overlaps with sending.
 */
const jobsAtOnce = 32;
/** Messages the thread has before it: one in work and the next. */
const chunksAhead = 2;
/** Fewer jobs than this in one turn of the event loop are encrypted on the calling thread. */
const jobsWorthAThread = 4;
/**
 * Jobs that the calling thread takes in one turn of the event loop while the second thread starts
 * or is busy. They take less than half a millisecond.
 */
const jobsHere = 4;

/**
 * Exists only in the built service. When the service runs from source, the calling thread encrypts
 * everything.
 */
const threadFile = new URL('./encrypt-thread.js', import.meta.url);

interface Waiting extends EncryptJob {
  readonly resolve: (body: Buffer | undefined) => void;
}

/**
 * Encrypts on a second thread when there is enough to do. When that thread dies, the calling thread
 * encrypts its open jobs and all later ones.
 */
export function createThreadedEncryptor(): Encryptor {
  let launched: Worker | undefined;
  /** Undefined until the thread reports that it accepts jobs. No job waits for its start. */
  let thread: Worker | undefined;
  let isBroken = !existsSync(threadFile);
  let isScheduled = false;
  const queued: Waiting[] = [];
  const underWay: Waiting[][] = [];

  const encryptHere = (jobs: readonly Waiting[]): void => {
    for (const { plaintext, p256dh, auth, resolve } of jobs) resolve(encrypt(plaintext, p256dh, auth));
  };

  const launch = (): Worker => {
    const worker = new Worker(threadFile);
    worker.unref();
    worker.once('message', () => {
      if (!isBroken) thread = worker;
      // Answers come in the order of the messages.
      worker.on('message', (packed: Uint8Array) => {
        const jobs = underWay.shift() ?? [];
        // The thread gets its next work before the bodies are sent, so that it is not idle
        // meanwhile.
        if (queued.length >= jobsWorthAThread && !isBroken) giveTo(worker);
        for (const [i, body] of unpackBodies(packed).entries()) jobs[i]?.resolve(body);
      });
    });
    const giveUp = (): void => {
      isBroken = true;
      thread = undefined;
      for (const jobs of underWay.splice(0)) encryptHere(jobs);
    };
    worker.on('error', giveUp);
    worker.on('exit', giveUp);
    return worker;
  };

  const giveTo = (worker: Worker): void => {
    const jobs = queued.splice(0, jobsAtOnce);
    underWay.push(jobs);
    const packed = packJobs(jobs);
    worker.postMessage(packed, [packed.buffer]);
  };

  const share = (): void => {
    isScheduled = false;
    if (!isBroken && queued.length >= jobsWorthAThread) launched ??= launch();
    while (
      thread &&
      !isBroken &&
      underWay.length < chunksAhead &&
      queued.length >= (underWay.length > 0 ? 1 : jobsWorthAThread)
    ) {
      giveTo(thread);
    }
    encryptHere(queued.splice(0, jobsHere));
    schedule();
  };

  const schedule = (): void => {
    if (isScheduled || queued.length === 0) return;
    isScheduled = true;
    setImmediate(share);
  };

  return {
    encrypt: (plaintext, p256dh, auth) =>
      new Promise((resolve) => {
        queued.push({ plaintext, p256dh, auth, resolve });
        schedule();
      }),
    async close() {
      isBroken = true;
      encryptHere(queued.splice(0));
      await launched?.terminate();
    },
  };
}
