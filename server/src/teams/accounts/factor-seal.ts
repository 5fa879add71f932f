// Seals second factors like every secret. It also opens those that earlier releases
// encrypted in a format of their own, XChaCha20-Poly1305, until they are sealed again.
import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { type Seal, SealError } from '../../ground/secrets/seal.ts';
import { formerSecretOf } from '../../ground/secrets/signed-text.ts';
import type { AuthKeys } from './signed-token.ts';

type Column = 'secret' | 'backup_codes';

export interface FactorSeal {
  /** The beginning of records that are sealed with the present master key. */
  readonly prefix: string;
  seal(accountId: string, column: Column, plaintext: Buffer | string): string;
  /** Throws `SealError` for a record that no key opens. */
  open(accountId: string, column: Column, record: string): Buffer;
}

export function createFactorSeal(seal: Seal, { key, previous }: AuthKeys): FactorSeal {
  const formerKeys = [key, ...(previous ? [previous] : [])].map((masterKey) => {
    const secret = formerSecretOf(masterKey);
    return { version: sha256(secret).readUInt32BE(), key: sha256(secret) };
  });
  const placeOf = (rowId: string, column: Column) => ({ table: 'second_factors', column, rowId, appId: '' });
  return {
    prefix: seal.prefix,
    seal: (accountId, column, plaintext) => seal.seal(plaintext, placeOf(accountId, column)),
    open(accountId, column, record) {
      const [, version, hex] = /^\$ba\$(\d+)\$([0-9a-f]+)$/.exec(record) ?? [];
      if (version === undefined || hex === undefined) return seal.open(record, placeOf(accountId, column));
      const former = formerKeys.find((each) => each.version === Number(version));
      if (!former) throw new SealError('no key opens a second factor');
      return openXChaCha(former.key, Buffer.from(hex, 'hex'));
    },
  };
}

const [nonceBytes, tagBytes] = [24, 16];

/**
 * Opens nonce, ciphertext and tag (draft-irtf-cfrg-xchacha, section 2.3). OpenSSL has no
 * XChaCha20. Its subkey is a block of ChaCha20 before the last addition, so the addition is undone.
 */
function openXChaCha(key: Buffer, record: Buffer): Buffer {
  if (record.length < nonceBytes + tagBytes) throw new SealError('a second factor was altered');
  const start = record.subarray(0, 16);
  const block = createCipheriv('chacha20', key, start).update(Buffer.alloc(64));
  const initial = Buffer.concat([Buffer.from('expand 32-byte k'), start]);
  const subkey = Buffer.alloc(32);
  for (const [i, at] of [0, 4, 8, 12, 48, 52, 56, 60].entries()) {
    subkey.writeInt32LE((block.readInt32LE(at) - initial.readInt32LE(i * 4)) | 0, i * 4);
  }
  const nonce = Buffer.concat([Buffer.alloc(4), record.subarray(16, nonceBytes)]);
  try {
    const decipher = createDecipheriv('chacha20-poly1305', subkey, nonce, { authTagLength: tagBytes });
    decipher.setAuthTag(record.subarray(-tagBytes));
    return Buffer.concat([decipher.update(record.subarray(nonceBytes, -tagBytes)), decipher.final()]);
  } catch {
    throw new SealError('a second factor was altered');
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
