import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packBodies, packJobs, unpackBodies, unpackJobs } from './encrypt-batch.ts';

const bytes = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((array) => Buffer.from(array));

describe('a batch of encryption jobs', () => {
  it('arrives in the thread unchanged', () => {
    const job = fc.record({ plaintext: bytes(0, 200), p256dh: bytes(65, 65), auth: bytes(16, 16) });
    fc.assert(
      fc.property(fc.array(job), (jobs) => {
        expect(unpackJobs(packJobs(jobs))).toEqual(jobs);
      }),
    );
  });

  it('comes back in order, with a gap where there was no body', () => {
    fc.assert(
      fc.property(fc.array(fc.option(bytes(1, 200), { nil: undefined })), (bodies) => {
        expect(unpackBodies(packBodies(bodies))).toEqual(bodies);
      }),
    );
  });

  it('carries the largest message there is', () => {
    const largest = { plaintext: Buffer.alloc(3993, 1), p256dh: Buffer.alloc(65, 4), auth: Buffer.alloc(16, 5) };
    expect(unpackJobs(packJobs([largest, largest]))).toEqual([largest, largest]);
  });
});
