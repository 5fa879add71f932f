// The sandbox's own TLS certificate: self-signed, made at the first start and kept, so that a
// client needs to trust it only once. It must never name a host that its owner did not ask for.
import { createHash, createPrivateKey, generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isIPv4, isIPv6 } from 'node:net';
import { join } from 'node:path';
import {
  bitString,
  derTrue,
  explicit,
  implicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  setOf,
  time,
  utf8String,
} from './der.ts';

/**
 * Names that clients may use for the sandbox: its own, and the names of the real services for
 * clients that route these here.
 */
export const defaultNames: readonly string[] = [
  'localhost',
  '127.0.0.1',
  'fcm.googleapis.com',
  'oauth2.googleapis.com',
  'api.push.apple.com',
  'api.sandbox.push.apple.com',
  'jmt17.google.com',
  'updates.push.services.mozilla.com',
  'web.push.apple.com',
  'wns2-sandbox.notify.windows.com',
  'push.sandbox.example',
];

const validDays = 3650;
const dayMs = 86_400_000;
const authorityName = 'Carillon sandbox';

const objectIds = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const;

export interface Certificate {
  readonly certificatePem: string;
  readonly keyPem: string;
  /** The file for `OUTBOUND_CA_FILE`, `NODE_EXTRA_CA_CERTS`, `--cacert` and similar settings. */
  readonly file: string;
}

/**
 * Makes a new EC P-256 key and an X.509 v3 certificate signed by it (RFC 5280), which is server and
 * authority in one.
 */
export function makeCertificate(names: readonly string[], from: Date): { certificatePem: string; keyPem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  // SHA-1 only names the key here and secures nothing (RFC 5280 section 4.2.1.2, method 1, over the
  // 65 key octets).
  const keyId = createHash('sha1').update(spki.subarray(-65)).digest();
  const algorithm = sequence(objectIdentifier(objectIds.ecdsaWithSha256));
  const name = sequence(setOf(sequence(objectIdentifier(objectIds.commonName), utf8String(authorityName))));
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(randomBytes(16)),
    algorithm,
    name,
    // Valid from a day ago, so that a client whose clock is slightly behind accepts the
    // certificate.
    sequence(time(new Date(from.getTime() - dayMs)), time(new Date(from.getTime() + validDays * dayMs))),
    name,
    spki,
    explicit(3, sequence(...extensions(names, keyId))),
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(body, algorithm, bitString(signature));
  return {
    certificatePem: toPem('CERTIFICATE', certificate),
    keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function extensions(names: readonly string[], keyId: Buffer): Buffer[] {
  const extension = (oid: string, isCritical: boolean, value: Buffer): Buffer =>
    sequence(objectIdentifier(oid), ...(isCritical ? [derTrue()] : []), octetString(value));
  return [
    extension(objectIds.basicConstraints, true, sequence(derTrue())),
    // digitalSignature (bit 0) and keyCertSign (bit 5).
    extension(objectIds.keyUsage, true, bitString(Buffer.from([0b1000_0100]), 2)),
    extension(objectIds.extendedKeyUsage, false, sequence(objectIdentifier(objectIds.serverAuth))),
    extension(objectIds.subjectKeyIdentifier, false, octetString(keyId)),
    extension(objectIds.authorityKeyIdentifier, false, sequence(implicit(0, keyId))),
    extension(objectIds.subjectAltName, false, sequence(...names.map(generalName))),
  ];
}

function generalName(name: string): Buffer {
  if (isIPv4(name)) return implicit(7, Buffer.from(name.split('.').map(Number)));
  if (isIPv6(name)) return implicit(7, ipv6Octets(name));
  return implicit(2, Buffer.from(name, 'ascii'));
}

function ipv6Octets(address: string): Buffer {
  // The URL parser writes every spelling in the canonical form, so only `::` is left to expand.
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const left = groups(head);
  const right = groups(tail ?? '');
  const middle = tail === undefined ? [] : Array<string>(8 - left.length - right.length).fill('0');
  const octets = Buffer.alloc(16);
  [...left, ...middle, ...right].forEach((group, index) => {
    octets.writeUInt16BE(Number.parseInt(group, 16), index * 2);
  });
  return octets;
}

function toPem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/**
 * The certificate kept in `directory`. A new one is made when none exists, when it lacks a name, or
 * when it expires within a month. Only the owner can read the key.
 */
export function loadOrMakeCertificate(directory: string, names: readonly string[], now: Date): Certificate {
  const file = join(directory, 'sandbox-certificate.pem');
  const keyFile = join(directory, 'sandbox-key.pem');
  const kept = readPair(file, keyFile);
  if (kept !== undefined && isStillGood(kept, names, now)) return { ...kept, file };
  const made = makeCertificate(names, now);
  mkdirSync(directory, { recursive: true });
  writeFileSync(keyFile, made.keyPem, { mode: 0o600 });
  writeFileSync(file, made.certificatePem);
  return { ...made, file };
}

function readPair(file: string, keyFile: string): { certificatePem: string; keyPem: string } | undefined {
  try {
    return { certificatePem: readFileSync(file, 'utf8'), keyPem: readFileSync(keyFile, 'utf8') };
  } catch {
    return undefined;
  }
}

function isStillGood(pair: { certificatePem: string; keyPem: string }, names: readonly string[], now: Date): boolean {
  try {
    const certificate = new X509Certificate(pair.certificatePem);
    return (
      certificate.checkPrivateKey(createPrivateKey(pair.keyPem)) &&
      Date.parse(certificate.validTo) - now.getTime() > 30 * dayMs &&
      names.every((name) => (isIPv4(name) || isIPv6(name) ? certificate.checkIP(name) : certificate.checkHost(name)))
    );
  } catch {
    return false;
  }
}
