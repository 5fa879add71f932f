import { createECDH, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import type { createThreadedEncryptor } from './encryptor.ts';

// The thread exists only in the build, which `npm test` makes first.
const built = (await import('../../../../dist/sending/channels/webpush/encryptor.js' as string)) as {
  createThreadedEncryptor: typeof createThreadedEncryptor;
};
const ece = createRequire(import.meta.url)('http_ece') as {
  decrypt(body: Buffer, options: object): Buffer;
};

function createReader() {
  const privateKey = createECDH('prime256v1');
  const p256dh = privateKey.generateKeys();
  const auth = randomBytes(16);
  return {
    p256dh,
    auth,
    read: (body: Buffer | undefined) =>
      ece.decrypt(body ?? Buffer.alloc(0), { version: 'aes128gcm', privateKey, authSecret: auth }).toString(),
  };
}

/** An encryptor with a thread that has started. */
async function createWithThread() {
  const encryptor = built.createThreadedEncryptor();
  const launched = once(process, 'worker') as Promise<[Worker]>;
  const { p256dh, auth } = createReader();
  const first = Array.from({ length: 4 }, () => encryptor.encrypt(Buffer.from('first'), p256dh, auth));
  const [thread] = await launched;
  await Promise.all([once(thread, 'message'), ...first]);
  return { encryptor, thread };
}

/** Encrypts one message for each reader. Returns the numbers of the readers. */
function encryptAll(encryptor: ReturnType<typeof createThreadedEncryptor>, readers: ReturnType<typeof createReader>[]) {
  return Promise.all(readers.map(({ p256dh, auth }, i) => encryptor.encrypt(Buffer.from(`${i}`), p256dh, auth)));
}

describe('the threaded encryptor', () => {
  it('gives each of many messages to its own reader, and none to a key that is no point', async () => {
    const { encryptor, thread } = await createWithThread();
    const hasWorked = once(thread, 'message');
    const readers = Array.from({ length: 100 }, createReader);
    const noPoint = Buffer.alloc(65, 4);
    const bodies = await Promise.all([
      ...readers.map(({ p256dh, auth }, i) => encryptor.encrypt(Buffer.from(`message ${i}`), p256dh, auth)),
      encryptor.encrypt(Buffer.from('nobody'), noPoint, randomBytes(16)),
    ]);
    expect(readers.map(({ read }, i) => read(bodies[i]))).toEqual(readers.map((_, i) => `message ${i}`));
    expect(bodies.at(-1)).toBeUndefined();
    await hasWorked;
    await encryptor.close();
  });

  it('encrypts a single push at once, also after it was closed', async () => {
    const encryptor = built.createThreadedEncryptor();
    const { p256dh, auth, read } = createReader();
    expect(read(await encryptor.encrypt(Buffer.from('alone'), p256dh, auth))).toBe('alone');
    await encryptor.close();
    expect(read(await encryptor.encrypt(Buffer.from('late'), p256dh, auth))).toBe('late');
  });

  it('loses nothing when its thread never starts', async () => {
    const encryptor = built.createThreadedEncryptor();
    process.once('worker', (thread: Worker) => void thread.terminate());
    const readers = Array.from({ length: 100 }, createReader);
    const bodies = await encryptAll(encryptor, readers);
    expect(readers.map(({ read }, i) => read(bodies[i]))).toEqual(readers.map((_, i) => `${i}`));
    await encryptor.close();
  });

  it.each([
    ['it is closed', ({ encryptor }: Awaited<ReturnType<typeof createWithThread>>) => encryptor.close()],
    ['its thread dies', ({ thread }: Awaited<ReturnType<typeof createWithThread>>) => thread.terminate()],
  ])('loses nothing when %s with messages under way', async (_name, end) => {
    const running = await createWithThread();
    const readers = Array.from({ length: 100 }, createReader);
    const asked = encryptAll(running.encryptor, readers);
    // Now the thread has its first messages, and others wait.
    await new Promise(setImmediate);
    await end(running);
    const bodies = await asked;
    expect(readers.map(({ read }, i) => read(bodies[i]))).toEqual(readers.map((_, i) => `${i}`));
    await running.encryptor.close();
  });
});
