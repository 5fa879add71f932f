// Seals secrets at rest: AES-256-GCM under the master key, bound to their row. An
// altered or moved record opens as an error, never as text. No opened secret is logged.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** The place of a sealed value. A record that is copied to another place does not open. */
export interface SealPlace {
  readonly table: string;
  readonly column: string;
  readonly rowId: string;
  readonly appId: string;
}

export interface Seal {
  seal(plaintext: string | Buffer, place: SealPlace): string;
  /**
   * Throws `SealError` for a record that is altered, moved, or sealed with a key that is not
   * available.
   */
  open(record: string, place: SealPlace): Buffer;
  /** Throws `SealError` for a record whose key is not available, without opening it. */
  checkKey(record: string): void;
  /** The key that seals new records. */
  readonly keyId: string;
  /** The beginning of records that are sealed with that key. */
  readonly prefix: string;
}

export class SealError extends Error {
  override readonly name = 'SealError';
}

const nonceLength = 12;
/**
 * Fixed on both sides, because GCM also accepts tags of 4 bytes, which can be guessed (NIST SP
 * 800-38D, appendix C).
 */
const tagLength = 16;

/** Reads a master key: 32 bytes in base64. Throws with a sentence for an operator. */
export function parseMasterKey(text: string, variable: string): Buffer {
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length !== 32 || !/^[A-Za-z0-9+/_-]+=*$/.test(text.trim())) {
    throw new SealError(
      `${variable} must be 32 bytes in base64 (44 characters); make one with: openssl rand -base64 32`,
    );
  }
  return key;
}

/** `masterKey` seals and opens; `previousKey` only opens, during a rotation. */
export function createSeal(masterKey: Buffer, previousKey?: Buffer): Seal {
  const keyId = masterKeyId(masterKey);
  const keys = new Map([[keyId, masterKey]]);
  if (previousKey) keys.set(masterKeyId(previousKey), previousKey);
  const prefix = `v1.${keyId}.`;
  const keyOf = (id: string): Buffer => {
    const key = keys.get(id);
    if (!key)
      throw new SealError(`A secret is sealed with key ${id}, which is neither MASTER_KEY nor MASTER_KEY_PREVIOUS.`);
    return key;
  };
  return {
    checkKey: (record) => void keyOf(record.split('.')[1] ?? ''),
    keyId,
    prefix,
    seal(plaintext, place) {
      const nonce = randomBytes(nonceLength);
      const cipher = createCipheriv('aes-256-gcm', masterKey, nonce, { authTagLength: tagLength });
      cipher.setAAD(additionalData(place));
      const sealed = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
      return `${prefix}${nonce.toString('base64url')}.${sealed.toString('base64url')}`;
    },
    open(record, place) {
      const [version, id, nonce, sealed, ...rest] = record.split('.');
      if (version !== 'v1' || !id || !nonce || !sealed || rest.length > 0) throw new SealError('not a sealed record');
      const key = keyOf(id);
      const bytes = Buffer.from(sealed, 'base64url');
      const nonceBytes = Buffer.from(nonce, 'base64url');
      if (bytes.length < tagLength || nonceBytes.length !== nonceLength) throw new SealError('not a sealed record');
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, nonceBytes, { authTagLength: tagLength });
        decipher.setAAD(additionalData(place));
        decipher.setAuthTag(bytes.subarray(-tagLength));
        return Buffer.concat([decipher.update(bytes.subarray(0, -tagLength)), decipher.final()]);
      } catch {
        throw new SealError(`a sealed value of ${place.table}.${place.column} was altered or moved`);
      }
    },
  };
}

/**
 * Names a master key without revealing anything about it: eight hexadecimal digits of its hash
 * under a separate label.
 */
export function masterKeyId(key: Buffer): string {
  return createHash('sha256').update('carillon-master-key').update(key).digest('hex').slice(0, 8);
}

function additionalData({ table, column, rowId, appId }: SealPlace): Buffer {
  return Buffer.from(`${table}|${column}|${rowId}|${appId}`);
}
