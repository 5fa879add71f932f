// Google's token endpoint for service accounts (RFC 7523): verifies an assertion and issues an
// access token. It remembers every issued token and its expiry. The tokens of a removed account are
// invalid.
import { randomBytes, verify } from 'node:crypto';
import { Examination } from './examination.ts';
import { acceptByOauth, type OauthErrorName, refuseByOauth } from './fcm-answers.ts';
import type { PushRequest, TokenSeen } from './provider.ts';
import type { ProviderKeys } from './provider-keys.ts';
import { decodeToken } from './vapid.ts';
import type { Answer } from './vendors/vendor.ts';

const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const googleTokenUri = 'https://oauth2.googleapis.com/token';
/** Either scope lets an account send messages. */
const scopesAllowed = [
  'https://www.googleapis.com/auth/firebase.messaging',
  'https://www.googleapis.com/auth/cloud-platform',
];
const assertionSecondsMax = 3600;
/** Google accepts clocks that differ by this much. */
const clockSeconds = 300;

export interface AccessToken {
  readonly clientEmail: string;
  readonly projectId: string;
  readonly maySend: boolean;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface Exchanged {
  readonly exam: Examination;
  readonly seen: TokenSeen | null;
  readonly answer: Answer;
}

export class GoogleOauth {
  readonly #keys: ProviderKeys;
  readonly #tokenUri: () => string;
  readonly #tokens = new Map<string, AccessToken>();

  /**
   * `tokenUri` returns the sandbox's own address of this endpoint. An assertion may also name
   * Google's address as its audience.
   */
  constructor(keys: ProviderKeys, tokenUri: () => string) {
    this.#keys = keys;
    this.#tokenUri = tokenUri;
  }

  /**
   * The issued token, expired or not; undefined when it was never issued or its account is removed.
   */
  find(token: string): AccessToken | undefined {
    const known = this.#tokens.get(token);
    return known !== undefined && this.#keys.serviceAccount(known.clientEmail) !== undefined ? known : undefined;
  }

  /** `now`: milliseconds since the epoch. */
  exchange(request: PushRequest, now: number): Exchanged {
    const exam = new Examination();
    let seen: TokenSeen | null = null;
    const end = (
      name: 'grant' | 'assertion' | 'assertion_claims',
      error: OauthErrorName,
      detail: string,
    ): Exchanged => {
      const answer = refuseByOauth(error, detail);
      exam.fail(name, answer, detail);
      return { exam, seen, answer };
    };
    const form = new URLSearchParams(request.body.toString('utf8'));
    const grant = form.get('grant_type');
    const assertion = form.get('assertion');
    if (grant === null) return end('grant', 'invalid_request', 'Required parameter is missing: grant_type');
    if (grant !== grantType) return end('grant', 'unsupported_grant_type', `Invalid grant_type: ${grant}`);
    if (assertion === null) return end('grant', 'invalid_request', 'Required parameter is missing: assertion');
    exam.pass('grant', 'jwt-bearer');

    const decoded = decodeToken(assertion);
    if (typeof decoded === 'string') return end('assertion', 'invalid_grant', `Invalid JWT: ${decoded}`);
    const { header, claims } = decoded;
    seen = { header, claims, holder: String(claims['iss'] ?? 'nobody') };
    const account = this.#keys.serviceAccount(String(claims['iss']));
    if (account === undefined) return end('assertion', 'invalid_grant', 'Invalid grant: account not found');
    const isOurKey = header['kid'] === undefined || header['kid'] === account.privateKeyId;
    const isSigned =
      header['alg'] === 'RS256' &&
      isOurKey &&
      verify('RSA-SHA256', Buffer.from(decoded.signingInput), account.key, decoded.signature);
    if (!isSigned) return end('assertion', 'invalid_grant', 'Invalid JWT Signature.');
    exam.pass('assertion', 'RS256, made with the key of the account');

    const fault = claimsFault(claims, [this.#tokenUri(), googleTokenUri], now / 1000);
    if (fault !== null) return end('assertion_claims', fault.error, fault.detail);
    exam.pass('assertion_claims', 'aud, iat, exp and scope');

    const token = `ya29.c.${randomBytes(96).toString('base64url')}`;
    const scopes = String(claims['scope']).split(' ');
    this.#tokens.set(token, {
      clientEmail: account.clientEmail,
      projectId: account.projectId,
      maySend: scopes.some((scope) => scopesAllowed.includes(scope)),
      expiresAt: now + account.tokenSeconds * 1000,
    });
    this.#dropExpired(now);
    return { exam, seen, answer: acceptByOauth(token, account.tokenSeconds) };
  }

  /** Deletes tokens that expired more than a day ago. */
  #dropExpired(now: number): void {
    for (const [token, { expiresAt }] of this.#tokens) if (expiresAt < now - 86_400_000) this.#tokens.delete(token);
  }
}

function claimsFault(
  claims: Readonly<Record<string, unknown>>,
  audiences: readonly string[],
  nowSeconds: number,
): { error: OauthErrorName; detail: string } | null {
  const { aud, iat, exp, sub, iss, scope } = claims;
  if (typeof aud !== 'string' || !audiences.includes(aud)) {
    return { error: 'invalid_grant', detail: 'Invalid JWT: Failed audience check.' };
  }
  const isTimely =
    typeof iat === 'number' &&
    typeof exp === 'number' &&
    iat <= nowSeconds + clockSeconds &&
    exp > nowSeconds - clockSeconds &&
    exp > iat &&
    exp - iat <= assertionSecondsMax;
  if (!isTimely) {
    return {
      error: 'invalid_grant',
      detail:
        'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.',
    };
  }
  if (typeof scope !== 'string' || !scope.startsWith('https://')) {
    return { error: 'invalid_scope', detail: 'Invalid OAuth scope or ID token audience provided.' };
  }
  if (sub !== undefined && sub !== iss) {
    return {
      error: 'unauthorized_client',
      detail:
        'Client is unauthorized to retrieve access tokens using this method, or client not authorized for any of the scopes requested.',
    };
  }
  return null;
}
