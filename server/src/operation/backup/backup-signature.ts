// The signature at the end of a backup: HMAC-SHA256 over every byte before it, under a key derived
// from the master key (RFC 5869), which is never in the backup. The signature is the extra field of
// an empty gzip member (RFC 1952, section 2.3.1.1), so that any tar still lists a signed file.
// Independent of a backup's content.
import { masterKeyId } from '../../ground/secrets/seal.ts';
import { formerFormsEndMs, isSame, signingKey, streamSigner } from '../../ground/secrets/signed-text.ts';

const macBytes = 32;
const keyIdBytes = 4;

/** A gzip header with FEXTRA set, then one subfield `CB` with the key's id and the MAC. */
const beforeSignature = Buffer.from([
  ...[0x1f, 0x8b, 8, 0x04, 0, 0, 0, 0, 0, 255],
  ...[4 + keyIdBytes + macBytes, 0, 0x43, 0x42, keyIdBytes + macBytes, 0],
]);
/** An empty deflate block, and the checksum and length of no bytes. */
const afterSignature = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
const signatureBytes = beforeSignature.length + keyIdBytes + macBytes + afterSignature.length;

/** The result of a check of a file's last bytes. */
export type Verdict =
  | { readonly is: 'signed' }
  | { readonly is: 'unsigned' }
  | { readonly is: 'altered' }
  /** The signature is in the form of former releases, which has ended. */
  | { readonly is: 'ended' }
  /** None of the given master keys signed the file; `keyId` is the signer's. */
  | { readonly is: 'unknown-key'; readonly keyId: string };

/** Yields `source` and then the signature. */
export async function* signed(source: AsyncIterable<Buffer>, masterKey: Buffer): AsyncGenerator<Buffer> {
  const mac = streamSigner(signingKey('backup', masterKey));
  for await (const chunk of source) {
    mac.update(chunk);
    yield chunk;
  }
  yield Buffer.concat([
    beforeSignature,
    Buffer.from(masterKeyId(masterKey), 'hex'),
    Buffer.from(mac.end(), 'latin1'),
    afterSignature,
  ]);
}

/** Reads a whole file and compares its signature in constant time. Rejects as `source` does. */
export async function judgeSignature(
  source: AsyncIterable<Buffer>,
  masterKeys: readonly Buffer[],
  nowMs: number,
): Promise<Verdict> {
  const macs = masterKeys.map((key) => ({
    keyId: masterKeyId(key),
    present: streamSigner(signingKey('backup', key)),
    former: streamSigner(signingKey('formerBackup', key)),
  }));
  let last: Buffer = Buffer.alloc(0);
  for await (const chunk of source) {
    const held = Buffer.concat([last, chunk]);
    const before = held.subarray(0, Math.max(held.length - signatureBytes, 0));
    for (const mac of macs.flatMap(({ present, former }) => [present, former])) mac.update(before);
    last = held.subarray(before.length);
  }
  const signature = readSignature(last);
  if (!signature) return { is: 'unsigned' };
  const found = macs.find(({ keyId }) => keyId === signature.keyId);
  if (!found) return { is: 'unknown-key', keyId: signature.keyId };
  if (isSame(signature.mac, found.present.end())) return { is: 'signed' };
  if (!isSame(signature.mac, found.former.end())) return { is: 'altered' };
  return { is: nowMs < formerFormsEndMs ? 'signed' : 'ended' };
}

function readSignature(last: Buffer): { keyId: string; mac: string } | undefined {
  const at = beforeSignature.length;
  const isSignature =
    last.length === signatureBytes &&
    last.subarray(0, at).equals(beforeSignature) &&
    last.subarray(-afterSignature.length).equals(afterSignature);
  if (!isSignature) return undefined;
  const mac = at + keyIdBytes;
  return { keyId: last.subarray(at, mac).toString('hex'), mac: last.toString('latin1', mac, mac + macBytes) };
}
