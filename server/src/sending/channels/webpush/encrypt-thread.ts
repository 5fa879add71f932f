// The thread that encrypts for `createThreadedEncryptor`. It says that it has started, and then
// takes packed jobs and answers packed bodies in the same order.
import { parentPort } from 'node:worker_threads';
import { encrypt } from './encrypt.ts';
import { packBodies, unpackJobs } from './encrypt-batch.ts';

parentPort?.on('message', (packed: Uint8Array) => {
  const bodies = unpackJobs(packed).map(({ plaintext, p256dh, auth }) => encrypt(plaintext, p256dh, auth));
  const answer = packBodies(bodies);
  parentPort?.postMessage(answer, [answer.buffer]);
});
parentPort?.postMessage('started');
