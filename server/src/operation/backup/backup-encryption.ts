// Encrypts a backup to a recipient, in the format of age (age-encryption.org/v1), so that the
// machine that creates backups holds no key that opens them. The library is loaded only when a
// backup is encrypted.
import { createReadStream } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

const firstBytes = 'age-encryption.org/v1\n';

/** Yields `source`, encrypted. Rejects when `recipient` is no age recipient. */
export async function* encrypted(source: AsyncIterable<Buffer>, recipient: string): AsyncGenerator<Buffer> {
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  yield* buffersOf(await encrypter.encrypt(webStreamOf(source)));
}

/** Returns whether `text` names a recipient: `age1…`, as `age-keygen` prints it. */
export async function isRecipient(text: string): Promise<boolean> {
  const { Encrypter } = await import('age-encryption');
  try {
    new Encrypter().addRecipient(text);
    return true;
  } catch {
    return false;
  }
}

export async function isEncrypted(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(firstBytes.length), 0, firstBytes.length, 0);
    return buffer.toString('latin1', 0, bytesRead) === firstBytes;
  } finally {
    await handle.close();
  }
}

/**
 * Yields the plain bytes of an encrypted file. Rejects when no identity in `identityFile` opens it,
 * or when it was altered.
 */
export async function* decrypted(file: string, identityFile: string): AsyncGenerator<Buffer> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  for (const identity of await readIdentities(identityFile)) decrypter.addIdentity(identity);
  const source = createReadStream(file, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>;
  yield* buffersOf(await decrypter.decrypt(webStreamOf(source)));
}

// A file as `age-keygen` writes it: comments, and one identity on each line.
async function readIdentities(file: string): Promise<string[]> {
  const lines = (await readFile(file, 'utf8')).split(/\r?\n/).map((line) => line.trim());
  const identities = lines.filter((line) => line.startsWith('AGE-SECRET-KEY-'));
  if (identities.length === 0) throw new Error(`${file} holds no age identity (a line AGE-SECRET-KEY-…)`);
  return identities;
}

function webStreamOf(source: AsyncIterable<Buffer>): globalThis.ReadableStream<Uint8Array> {
  return Readable.toWeb(Readable.from(source)) as globalThis.ReadableStream<Uint8Array>;
}

async function* buffersOf(stream: globalThis.ReadableStream<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const bytes of stream as ReadableStream<Uint8Array>) {
    yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}
