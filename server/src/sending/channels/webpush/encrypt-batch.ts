// Encryption jobs and their results as flat bytes, so that one message carries many of them to a
// thread and back without a copy. Pure.

export interface EncryptJob {
  readonly plaintext: Buffer;
  /** 65 bytes. */
  readonly p256dh: Buffer;
  /** 16 bytes. */
  readonly auth: Buffer;
}

const keyBytes = 65;
const authBytes = 16;
const lengthBytes = 2;

/**
 * Packs each job as: length of the plaintext (2 bytes, big-endian), p256dh, auth, plaintext. The
 * result has a buffer of its own, which may be transferred.
 */
export function packJobs(jobs: readonly EncryptJob[]): Uint8Array<ArrayBuffer> {
  const size = jobs.reduce((sum, job) => sum + lengthBytes + keyBytes + authBytes + job.plaintext.length, 0);
  const packed = Buffer.from(new ArrayBuffer(size));
  let at = 0;
  for (const { plaintext, p256dh, auth } of jobs) {
    at = packed.writeUInt16BE(plaintext.length, at);
    at += p256dh.copy(packed, at);
    at += auth.copy(packed, at);
    at += plaintext.copy(packed, at);
  }
  return packed;
}

export function unpackJobs(packed: Uint8Array): EncryptJob[] {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  const jobs: EncryptJob[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt16BE(at);
    at += lengthBytes;
    const p256dh = bytes.subarray(at, at + keyBytes);
    const auth = bytes.subarray(at + keyBytes, at + keyBytes + authBytes);
    at += keyBytes + authBytes;
    jobs.push({ plaintext: bytes.subarray(at, at + length), p256dh, auth });
    at += length;
  }
  return jobs;
}

/** Packs each body as its length (2 bytes; 0 for no body) and its bytes. */
export function packBodies(bodies: readonly (Buffer | undefined)[]): Uint8Array<ArrayBuffer> {
  const size = bodies.reduce((sum, body) => sum + lengthBytes + (body?.length ?? 0), 0);
  const packed = Buffer.from(new ArrayBuffer(size));
  let at = 0;
  for (const body of bodies) {
    at = packed.writeUInt16BE(body?.length ?? 0, at);
    if (body) at += body.copy(packed, at);
  }
  return packed;
}

export function unpackBodies(packed: Uint8Array): (Buffer | undefined)[] {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  const bodies: (Buffer | undefined)[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt16BE(at);
    at += lengthBytes;
    bodies.push(length === 0 ? undefined : bytes.subarray(at, at + length));
    at += length;
  }
  return bodies;
}
