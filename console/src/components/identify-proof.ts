// Checks the proof by which a server vouches for a person, and says what is wrong with it (contract
// 15). Pure but for the digest, which the browser makes. The service gives no reason; this runs
// where the secret is known.

/** In words for the developer; null: the proof is right. */
export type ProofFault = string | null;

interface Claim {
  readonly secret: string;
  readonly externalId: string;
  /** Empty: not known. */
  readonly deviceId: string;
  readonly appId: string;
  readonly isDeviceRequired: boolean;
  readonly proof: string;
}

const hashForm = /^[0-9a-f]{64}$/;
const aheadSecondsMax = 86_400;
const leewaySeconds = 60;

export async function findProofFault(claim: Claim, nowMs: number): Promise<ProofFault> {
  const isToken = claim.proof.includes('.');
  if (isToken && !claim.secret.startsWith('idjwt_')) return 'A token needs a secret that begins with idjwt_.';
  if (!isToken && !claim.secret.startsWith('idsec_')) return 'A hash needs a secret that begins with idsec_.';
  return isToken ? findTokenFault(claim, nowMs) : findHashFault(claim);
}

async function findHashFault({ secret, externalId, proof, isDeviceRequired }: Claim): Promise<ProofFault> {
  if (proof.startsWith('t=')) return 'This is the bound form of earlier versions, which nothing accepts: send a token.';
  if (isDeviceRequired) return 'This app requires the device, which a hash cannot name: send a token.';
  if (!hashForm.test(proof)) return 'A hash is 64 lower-case hexadecimal digits.';
  const expected = Array.from(await sign(secret, externalId), (byte) => byte.toString(16).padStart(2, '0')).join('');
  if (proof === expected) return null;
  return `It is of another secret, or of an id that was trimmed or lower-cased. Expected ${expected}.`;
}

async function findTokenFault(claim: Claim, nowMs: number): Promise<ProofFault> {
  const [head = '', body = '', signature = '', ...more] = claim.proof.split('.');
  if (more.length > 0) return 'A token has three parts, divided by dots.';
  if (claim.proof.length > 2048) return `A token has at most 2,048 characters; this one has ${claim.proof.length}.`;
  const [header, claims] = [readPart(head), readPart(body)];
  if (!header || !claims) return 'Its header or its claims are no JSON object in base64url.';
  if (header['alg'] !== 'HS256') return `Its alg is ${show(header['alg'])}; only "HS256" is accepted.`;
  if (signature !== toBase64url(await sign(claim.secret, `${head}.${body}`))) {
    return 'Its signature is of another secret. The key is the whole secret as text, idjwt_ included.';
  }
  for (const name of ['crit', 'b64']) if (Object.hasOwn(header, name)) return `Its header must not have ${name}.`;
  return findClaimFault(claim, claims) ?? findTimeFault(claims, nowMs / 1000);
}

type Members = Readonly<Record<string, unknown>>;

function findClaimFault(claim: Claim, { sub, aud, device_id: device }: Members): ProofFault {
  const { externalId, deviceId, appId, isDeviceRequired } = claim;
  if (sub !== externalId) return `Its sub is ${show(sub)}, not the external id.`;
  const isForApp = aud === undefined || aud === appId || (Array.isArray(aud) && aud.includes(appId));
  if (!isForApp) return `Its aud is ${show(aud)}, not ${appId}.`;
  if (device === undefined) return isDeviceRequired ? 'It has no device_id, which this app requires.' : null;
  if (deviceId === '') return `It names a device, ${show(device)}: give the id to compare it.`;
  if (device !== deviceId) return `Its device_id is ${show(device)}.`;
  return null;
}

function findTimeFault({ exp, nbf }: Members, now: number): ProofFault {
  if (typeof exp !== 'number') return 'It needs an exp: when it expires, as seconds since 1970.';
  if (exp + leewaySeconds <= now) return `It expired ${Math.round(now - exp)} seconds ago.`;
  if (exp - leewaySeconds > now + aheadSecondsMax) return 'Its exp is more than 24 hours ahead.';
  if (nbf === undefined || (typeof nbf === 'number' && nbf - leewaySeconds <= now)) return null;
  return `Its nbf is ${show(nbf)}: it is not valid yet.`;
}

const show = (value: unknown): string => (value === undefined ? 'missing' : JSON.stringify(value));

function readPart(part: string): Members | null {
  try {
    const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (letter) =>
      letter.charCodeAt(0),
    );
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return typeof value === 'object' && !Array.isArray(value) ? (value as Members | null) : null;
  } catch {
    return null;
  }
}

function toBase64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

async function sign(secret: string, text: string): Promise<Uint8Array> {
  const bytes = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytes.encode(secret), algorithm, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes.encode(text)));
}
