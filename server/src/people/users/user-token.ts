// Reads a user_token: a JSON Web Token (RFC 7519) in compact form, signed by HS256 alone (contract
// 15). Pure. No part of a token is read before one of the secrets has verified it.
import { isSignedBy, signingKey } from '../../ground/secrets/signed-text.ts';

const lengthMax = 2048;

/** The claims as signed; undefined: the text is no token, or none of the secrets signed it. */
export function readUserToken(text: string, secrets: readonly string[]): Readonly<Record<string, unknown>> | undefined {
  if (text.length > lengthMax) return undefined;
  const [head = '', body = '', signature = '', ...more] = text.split('.');
  const keys = secrets.map((secret) => signingKey('userToken', secret));
  if (more.length > 0 || !isSignedBy(keys, signature, head, body)) return undefined;
  const header = readObject(head);
  // Extensions that a reader must understand (RFC 7515 4.1.11, RFC 7797). This reader supports
  // none.
  if (header?.['alg'] !== 'HS256' || Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')) return undefined;
  return readObject(body);
}

/** Bytes of the one spelling in base64url: no padding, no other letters, no bits left over. */
function decode(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

// A byte order mark stays in the text, and JSON.parse refuses it.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function readObject(part: string): Readonly<Record<string, unknown>> | undefined {
  const bytes = decode(part);
  if (!bytes) return undefined;
  try {
    const text = utf8.decode(bytes);
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    // If a member is repeated, two readers may use different ones (RFC 7515 4).
    if (isObject && Object.keys(value).length === countMembers(text)) return { ...value };
  } catch {
    // The bytes are no UTF-8 or no JSON.
  }
  return undefined;
}

/** Counts the members of an object that is JSON: each has a colon outside of strings. */
function countMembers(json: string): number {
  let count = 0;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < json.length; i++) {
    const character = json.charAt(i);
    if (character === '"') inString = !inString;
    else if (inString) i += character === '\\' ? 1 : 0;
    else if ('{['.includes(character)) depth++;
    else if ('}]'.includes(character)) depth--;
    else if (character === ':' && depth === 1) count++;
  }
  return count;
}
