// Seals secrets at rest: AES-256-GCM under the master key, bound to the row they belong to. Fails closed:
// an altered or moved record opens as an error, never as text. Never logs what it opens.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** Where a sealed value stands; a record copied to another place does not open. */
export interface SealPlace {
  readonly table: string;
  readonly column: string;
  readonly rowId: string;
  readonly appId: string;
}

export interface Seal {
  seal(plaintext: string | Buffer, place: SealPlace): string;
  /** Throws `SealError` for a record that is altered, moved, or sealed with a key that is not at hand. */
  open(record: string, place: SealPlace): Buffer;
  /** Throws `SealError` for a record whose key is not at hand, without opening it. */
  checkKey(record: string): void;
  /** Which key new records are sealed with. */
  readonly keyId: string;
  /** How records begin that are sealed with that key. */
  readonly prefix: string;
}

export class SealError extends Error {
  override readonly name = 'SealError';
}

const nonceLength = 12;
/** Fixed on both sides: GCM also takes tags of 4 bytes, which can be guessed (NIST SP 800-38D, appendix C). */
const tagLength = 16;

/** Reads a master key: 32 bytes in base64. Throws in words an operator understands. */
export function parseMasterKey(text: string, variable: string): Buffer {
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length !== 32 || !/^[A-Za-z0-9+/_-]+=*$/.test(text.trim())) {
    throw new SealError(
      `${variable} must be 32 bytes in base64 (44 characters); make one with: openssl rand -base64 32`,
    );
  }
  return key;
}

/** `masterKey` seals and opens; `previousKey` only opens, while a rotation is under way. */
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

/** Names a master key without telling anything of it: eight hex digits of its hash under a label of its own. */
export function masterKeyId(key: Buffer): string {
  return createHash('sha256').update('carillon-master-key').update(key).digest('hex').slice(0, 8);
}

function additionalData({ table, column, rowId, appId }: SealPlace): Buffer {
  return Buffer.from(`${table}|${column}|${rowId}|${appId}`);
}
