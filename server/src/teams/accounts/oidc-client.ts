// Our side of OpenID Connect, by the library `openid-client`: the provider's description, the
// address of its sign-in page, and the check of its answer (state, issuer, PKCE, audience, nonce, and
// the signature of the id token by the provider's published keys).
import * as openid from 'openid-client';
import type { OidcConfig } from '../../config.ts';
import type { Proof } from './oidc-proof.ts';

/** A person as the provider names them. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** In lower case; null: the provider gives none. */
  readonly email: string | null;
  readonly isVerified: boolean;
  readonly name: string | null;
}

/** `unavailable`: the provider does not answer. `cancelled`: the person or the provider refused. */
export class OidcError extends Error {
  override readonly name = 'OidcError';
  readonly reason: 'unavailable' | 'cancelled' | 'failed';

  constructor(reason: OidcError['reason'], cause: unknown) {
    super(`OpenID Connect: ${reason}`, { cause });
    this.reason = reason;
  }
}

export interface OidcClient {
  /** The provider's host, as the button shows it. */
  readonly name: string;
  /** Returns the address of the provider's sign-in page. Throws `OidcError`. */
  begin(proof: Proof): Promise<string>;
  /** Checks the provider's answer, given as the query of the callback. Throws `OidcError`. */
  finish(query: URLSearchParams, proof: Proof): Promise<Identity>;
}

interface ClientDeps {
  readonly settings: OidcConfig;
  /** The address of the callback, as the provider knows it. */
  readonly redirectUri: string;
  readonly fetch: openid.CustomFetch;
  /** Milliseconds of a clock that is never set. */
  readonly steadyMs: () => number;
}

const timeoutSeconds = 10;
/**
 * The provider's description is asked for again after an hour: addresses and algorithms change
 * rarely.
 */
const knownForMs = 3_600_000;

export function createOidcClient({ settings, redirectUri, fetch, steadyMs }: ClientDeps): OidcClient {
  const { issuer, clientId, clientSecret } = settings;
  const server = new URL(issuer);
  const execute = server.protocol === 'http:' ? [openid.allowInsecureRequests] : [];

  const discover = async (): Promise<openid.ServerMetadata> => {
    const options = { execute, timeout: timeoutSeconds, [openid.customFetch]: fetch };
    return (await openid.discovery(server, clientId, undefined, openid.None(), options)).serverMetadata();
  };
  /**
   * Made for each attempt: the library keeps the provider's keys with it, and a key that the
   * provider has replaced or withdrawn must count at once.
   */
  const configure = (metadata: openid.ServerMetadata): openid.Configuration => {
    // The provider names the forms of client authentication that it accepts. The default is Basic.
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authenticate = methods.includes('client_secret_basic')
      ? openid.ClientSecretBasic(clientSecret)
      : openid.ClientSecretPost(clientSecret);
    const configuration = new openid.Configuration(metadata, clientId, clientSecret, authenticate);
    // Without this the library trusts TLS for the id token (OpenID Connect Core 3.1.3.7, rule 6).
    for (const extend of [...execute, openid.enableNonRepudiationChecks]) extend(configuration);
    configuration.timeout = timeoutSeconds;
    configuration[openid.customFetch] = fetch;
    return configuration;
  };
  let known: { readonly metadata: Promise<openid.ServerMetadata>; readonly atMs: number } | undefined;
  const configurationOf = async (): Promise<openid.Configuration> => {
    if (known && steadyMs() - known.atMs < knownForMs) return configure(await known.metadata);
    const asked = { metadata: discover(), atMs: steadyMs() };
    known = asked;
    asked.metadata.catch(() => {
      if (known === asked) known = undefined;
    });
    return configure(await asked.metadata);
  };

  return {
    name: server.hostname,
    async begin({ state, nonce, verifier }) {
      try {
        const configuration = await configurationOf();
        const address = openid.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: 'openid email profile',
          state,
          nonce,
          code_challenge: await openid.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        });
        return address.href;
      } catch (error) {
        throw new OidcError('unavailable', error);
      }
    },
    async finish(query, { state, nonce, verifier }) {
      const configuration = await configurationOf().catch((error: unknown) => {
        throw new OidcError('unavailable', error);
      });
      const answered = new URL(redirectUri);
      answered.search = query.toString();
      try {
        const tokens = await openid.authorizationCodeGrant(configuration, answered, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (!claims) throw new Error('the answer has no id token');
        // Providers may keep the address out of the id token (OpenID Connect Core 5.4).
        const said =
          claims['email'] === undefined
            ? await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub)
            : claims;
        return identityOf(claims.iss, claims.sub, said);
      } catch (error) {
        throw new OidcError(reasonOf(error), error);
      }
    },
  };
}

function identityOf(issuer: string, subject: string, said: Readonly<Record<string, unknown>>): Identity {
  const { email, email_verified: isVerified, name } = said;
  return {
    issuer,
    subject,
    email: typeof email === 'string' ? email.trim().toLowerCase() : null,
    // Only the boolean `true` counts, because any text would count as true in JavaScript.
    isVerified: isVerified === true,
    name: typeof name === 'string' && name.trim() !== '' ? name.trim() : null,
  };
}

function reasonOf(error: unknown): OidcError['reason'] {
  if (error instanceof openid.AuthorizationResponseError)
    return error.error === 'access_denied' ? 'cancelled' : 'failed';
  if (error instanceof openid.ResponseBodyError) return 'failed';
  if (error instanceof openid.ClientError) {
    return error.code === 'OAUTH_TIMEOUT' || error.code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' ? 'unavailable' : 'failed';
  }
  return 'unavailable';
}
