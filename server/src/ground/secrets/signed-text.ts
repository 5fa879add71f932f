// Every text that Carillon signs. The table names its forms. The parts of a statement
// cannot be confused, because each form separates them. A key signs in one form only, so no text
// has two meanings. Pure.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { hmacSha256, hmacsSha256 } from './hmac-sha256.ts';

type Part = string | Uint8Array;

/** Where the key of a form comes from. The prefixes are those of secrets that apps are given. */
type Source = 'master key' | 'receipt key' | 'whsec_' | 'idjwt_' | 'idsec_';

interface Form<Names extends readonly string[] = readonly string[]> {
  readonly source: Source;
  /** The purpose, from which a key is derived; null: the source itself is the key. */
  readonly label: string | null;
  readonly names: Names;
  /** The bytes of the HMAC that are kept, from the first one on. */
  readonly bytes: 16 | 32;
  readonly spelling: 'base64' | 'base64url' | 'hex' | 'latin1';
  /** Throws a RangeError for parts that this form could not tell apart. */
  write(parts: readonly Part[]): Buffer;
}

const receiptStart = Buffer.from('carillon-receipt\u0002');

/** Our own forms, and forms that the contract fixes byte for byte. */
const present = {
  session: framed('carillon session cookie', ['token']),
  step: framed('carillon sign-in step cookie', ['token']),
  browser: framed('carillon known browser cookie', ['person', 'id', 'time']),
  oidcState: framed('carillon OpenID Connect state', ['cookie']),
  oidcNonce: framed('carillon OpenID Connect nonce', ['cookie']),
  oidcVerifier: framed('carillon OpenID Connect verifier', ['cookie']),
  oidcIdentity: framed('carillon OpenID Connect identity cookie', ['identity']),
  cursor: { ...framed('carillon list cursor', ['scope', 'position']), bytes: 16 },
  backup: openEnded('carillon backup', ['content']),
  // Contract 14. Tokens of version 1 verify as long as their messages are kept.
  receipt: packed(receiptStart, ['batch', 'place'], [16, 2]),
  receiptOfVersion1: packed(Buffer.from('carillon-receipt\u0001'), ['message', 'device', 'batch'], [16, 16, 16]),
  // Contract 13.3.
  webhook: joined('whsec_', ['seconds', 'body'], 'hex'),
  // Contract 15: RFC 7515, section 5.1, and the HMAC of the external id alone.
  userToken: joined('idjwt_', ['header', 'claims'], 'base64url'),
  userHash: joined('idsec_', ['external id'], 'hex'),
} as const satisfies Record<string, Form>;

/** Forms of releases before the present ones. They are verified until `formerFormsEndMs`. */
const former = {
  formerCookie: plain('carillon-accounts', ['token'], 'base64'),
  formerOidc: plain('carillon-accounts', ['use and cookie'], 'base64url'),
  formerCursor: { ...plain('carillon-cursors', ['scope and position'], 'base64url'), bytes: 16 },
  formerBackup: plain('carillon-backup', ['content'], 'latin1'),
} as const satisfies Record<string, Form>;

/** 90 days after the present forms. The code of former forms may be deleted from then on. */
export const formerFormsEndMs = Date.UTC(2027, 1, 26);

const forms = { ...present, ...former };
export type PresentName = keyof typeof present;
export type FormerName = keyof typeof former;
type FormName = keyof typeof forms;

type Each<Names extends readonly string[]> = { readonly [I in keyof Names]: Part };
type PartsOf<Name extends FormName> = Each<(typeof forms)[Name]['names']>;

/** A key that signs in one form. */
export interface SigningKey<Name extends FormName = FormName> {
  readonly name: Name;
  readonly bytes: Uint8Array;
}

export type SigningKeys<Name extends FormName> = { readonly [Each in Name]: SigningKey<Each> };

/**
 * Throws a RangeError for a secret that belongs to another form. A key under the master key takes
 * microseconds to derive, so processes derive each once.
 */
export function signingKey<Name extends FormName>(name: Name, secret: Buffer | string): SigningKey<Name> {
  const { source, label }: Form = forms[name];
  const isText = source.endsWith('_');
  if (isText !== (typeof secret === 'string') || (typeof secret === 'string' && !secret.startsWith(source))) {
    throw new RangeError(`a secret of another form than ${name}`);
  }
  const bytes = Buffer.from(secret as string, 'utf8');
  if (label === null) return { name, bytes };
  return { name, bytes: label === 'carillon-accounts' ? Buffer.from(formerSecretOf(bytes)) : derived(bytes, label) };
}

export function signingKeys<Name extends FormName>(names: readonly Name[], secret: Buffer): SigningKeys<Name> {
  return Object.fromEntries(names.map((name) => [name, signingKey(name, secret)])) as unknown as SigningKeys<Name>;
}

/** The secret of former cookies. Its hash also encrypted second factors at that time. */
export function formerSecretOf(masterKey: Buffer): string {
  return derived(masterKey, 'carillon-accounts').toString('base64url');
}

function derived(masterKey: Buffer, label: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', label, 32));
}

/** Signs a statement; the result is in the one spelling of its form. */
export function sign<Name extends PresentName>(key: SigningKey<Name>, ...parts: PartsOf<Name>): string {
  return signatureOf(key, textOf(key.name, parts));
}

/**
 * Returns whether one of the keys signed this statement. Every key is tried, so that the time taken
 * does not tell which one it was. Another spelling of the same signature does not count.
 */
export function isSignedBy<Name extends PresentName>(
  keys: readonly SigningKey<Name>[],
  given: string,
  ...parts: PartsOf<Name>
): boolean {
  const [first] = keys;
  const text = first && textOf(first.name, parts);
  return text !== undefined && keys.filter((key) => isSame(given, signatureOf(key, text))).length > 0;
}

/** The signature in a former form, to compare with; undefined once former forms have ended. */
export function signedFormerly<Name extends FormerName>(
  key: SigningKey<Name>,
  nowMs: number,
  ...parts: PartsOf<Name>
): string | undefined {
  return nowMs < formerFormsEndMs ? signatureOf(key, textOf(key.name, parts)) : undefined;
}

/** Compares two signatures in constant time. */
export function isSame(given: string, wanted: string | undefined): boolean {
  if (wanted === undefined) return false;
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/**
 * Signs many receipts, as cheaply as a push needs it. The returned function takes the parts as one
 * text, and returns the whole HMAC with one byte in each character.
 */
export function receiptSigner({ bytes }: SigningKey<'receipt'>): (parts: Uint8Array) => string {
  return hmacsSha256(bytes, 18, receiptStart);
}

export interface StreamSigner {
  update(chunk: Buffer): void;
  end(): string;
}

/** Signs a content that comes in pieces. */
export function streamSigner({ name, bytes }: SigningKey<'backup' | 'formerBackup'>): StreamSigner {
  const mac = createHmac('sha256', bytes).update(textOf(name, ['']));
  return { update: (chunk) => void mac.update(chunk), end: () => mac.digest().toString('latin1') };
}

/** The bytes that are signed. */
export function textOf<Name extends FormName>(name: Name, parts: PartsOf<Name>): Buffer {
  const form: Form = forms[name];
  const given: readonly Part[] = parts;
  if (given.length !== form.names.length) throw new RangeError(`${name} has other parts`);
  return form.write(given);
}

/** The forms as tests enumerate them. */
export function listForms() {
  return Object.entries(forms).map(([name, { source, label, names }]: [string, Form]) => ({
    name: name as FormName,
    source,
    label,
    names,
    isFormer: name in former,
  }));
}

function signatureOf({ name, bytes }: SigningKey, text: Buffer): string {
  const form: Form = forms[name];
  const isShort = text.length <= 256 && bytes.length <= 64;
  const mac = isShort ? hmacSha256(bytes, text) : createHmac('sha256', bytes).update(text).digest();
  return mac.subarray(0, form.bytes).toString(form.spelling);
}

/** Our own form: the length of the label and of each part stands before it. */
function framed<const Names extends readonly string[]>(label: string, names: Names) {
  const write = (parts: readonly Part[]) => Buffer.concat([label, ...parts].flatMap(frame));
  return { source: 'master key', label, names, bytes: 32, spelling: 'base64url', write } as const;
}

/**
 * A single part ends with the text, because its length is not known when its first piece is signed.
 */
function openEnded<const Names extends readonly [string]>(label: string, names: Names) {
  const write = ([part = '']: readonly Part[]) => Buffer.concat([...frame(label), bytesOf(part)]);
  return { source: 'master key', label, names, bytes: 32, spelling: 'latin1', write } as const;
}

/** Parts of fixed widths after a constant beginning, under the receipt key. */
function packed<const Names extends readonly string[]>(start: Buffer, names: Names, widths: readonly number[]) {
  const write = (parts: readonly Part[]): Buffer => {
    const bytes = parts.map(bytesOf);
    if (bytes.some(({ length }, i) => length !== widths[i])) throw new RangeError('a part of another width');
    return Buffer.concat([start, ...bytes]);
  };
  return { source: 'receipt key', label: null, names, bytes: 16, spelling: 'latin1', write } as const;
}

/** Parts with a dot between them. Only the last part may contain a dot. */
function joined<const Names extends readonly string[], const Spelling extends 'hex' | 'base64url'>(
  source: Source,
  names: Names,
  spelling: Spelling,
) {
  const write = (parts: readonly Part[]): Buffer => {
    const bytes = parts.map(bytesOf);
    if (bytes.slice(0, -1).some((part) => part.includes('.'))) throw new RangeError('a part with a dot');
    return Buffer.concat(bytes.flatMap((part, i) => (i === 0 ? [part] : [bytesOf('.'), part])));
  };
  return { source, label: null, names, bytes: 32, spelling, write } as const;
}

/** A complete text, which the code of former releases has put together. */
function plain<const Names extends readonly [string], const Spelling extends Form['spelling']>(
  label: string,
  names: Names,
  spelling: Spelling,
) {
  const write = ([text = '']: readonly Part[]): Buffer => bytesOf(text);
  return { source: 'master key', label, names, bytes: 32, spelling, write } as const;
}

function frame(part: Part): Buffer[] {
  const bytes = bytesOf(part);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return [length, bytes];
}

function bytesOf(part: Part): Buffer {
  if (typeof part !== 'string') return Buffer.from(part.buffer, part.byteOffset, part.length);
  // All unpaired surrogates have the same bytes in UTF-8.
  if (!part.isWellFormed()) throw new RangeError('a part that is no Unicode text');
  return Buffer.from(part, 'utf8');
}
