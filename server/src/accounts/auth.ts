// Signing in through better-auth: it checks passwords and second factors, and makes the tokens of
// sessions. Every other rule of a session is ours (`queries.ts`, the console's guard). It is never
// reached over HTTP: the console's routes call it, and give its cookies our names.
import { AsyncLocalStorage } from 'node:async_hooks';
import { betterAuth } from 'better-auth';
import { createAdapterFactory } from 'better-auth/adapters';
import { APIError } from 'better-auth/api';
import { symmetricDecrypt } from 'better-auth/crypto';
import { twoFactor } from 'better-auth/plugins/two-factor';
import type { Clock } from '../database/clock.ts';
import { type Sql, type Tx, transaction } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import { ApiError } from '../http/api-error.ts';
import { type Account, findAccount, findPasswordHash } from './account-queries.ts';
import { findSecondFactorSeed, findStepAccountId, spendTotpStep } from './auth-queries.ts';
import { createStore, type Occasion } from './auth-store.ts';
import type { Passwords } from './password.ts';
import { type AuthSecret, tokenOf } from './signed-token.ts';
import { codeAt, findTotpStep } from './totp-step.ts';

/** The parts of a request that sign somebody in: its cookies, its address and its browser. */
export interface AuthRequest {
  /** The value of the session cookie; null: there is none. */
  readonly session: string | null;
  /** The value of the cookie between password and second factor. */
  readonly step: string | null;
  readonly address: string;
  readonly userAgent: string | null;
}

/** A session's new cookie, or the cookie of the step after the password. */
export type SignedIn = { readonly session: string } | { readonly step: string };

export interface SecondFactor {
  /** For an authenticator: `otpauth://…`, with the seed. Shown this once. */
  readonly uri: string;
  readonly recoveryCodes: readonly string[];
}

export interface Auth {
  /** Throws the 401 `wrong_credentials`, in the same words for every reason. */
  signIn(request: AuthRequest, credentials: { readonly email: string; readonly password: string }): Promise<SignedIn>;
  /** Finds the account whose password opened the step between password and second factor. */
  accountOfStep(step: string | null): Promise<Account | undefined>;
  /** The second step of a sign-in. A code of an authenticator works once. */
  verifyStep(request: AuthRequest, code: string, kind: 'totp' | 'recovery'): Promise<SignedIn>;
  /** Makes a second factor, which counts from its first code on. */
  beginSecondFactor(request: AuthRequest, accountId: Uuid, password: string): Promise<SecondFactor>;
  /** The first code: the second factor counts, and the session has a new token. */
  confirmSecondFactor(request: AuthRequest, accountId: Uuid, code: string): Promise<SignedIn>;
  removeSecondFactor(request: AuthRequest, accountId: Uuid, password: string): Promise<SignedIn>;
  renewRecoveryCodes(request: AuthRequest, accountId: Uuid, password: string): Promise<readonly string[]>;
}

interface AuthDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly passwords: Passwords;
  /** The first one encrypts and signs; each of them decrypts. */
  readonly secrets: readonly AuthSecret[];
}

const cookiePrefix = 'carillon';
const sessionCookie = `${cookiePrefix}.session_token`;
const stepCookie = `${cookiePrefix}.two_factor`;

export function createAuth(deps: AuthDeps): Auth {
  const occasions = new AsyncLocalStorage<Occasion>();
  const auth = betterAuth({
    appName: 'Carillon',
    // No request comes in over this address; better-auth wants one.
    baseURL: 'http://carillon.invalid',
    secrets: [...deps.secrets],
    database: createAdapterFactory({
      config: {
        adapterId: 'carillon',
        adapterName: 'Carillon',
        supportsNumericIds: false,
        supportsUUIDs: true,
        disableIdGeneration: true,
        transaction: false,
      },
      adapter: () => createStore(deps, () => occasions.getStore()),
    }),
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: 1,
      maxPasswordLength: 1024,
      password: {
        hash: deps.passwords.hash,
        verify: async ({ hash, password }) => {
          const verified = occasions.getStore()?.verified;
          if (verified) return verified.hash === hash && verified.password === password;
          return deps.passwords.verify(hash, password);
        },
      },
    },
    session: { expiresIn: 7 * 86_400, disableSessionRefresh: true, cookieCache: { enabled: false } },
    // Our own limits, origins and log stand in front of it.
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: { disabled: true },
    advanced: { cookiePrefix, useSecureCookies: false, disableCSRFCheck: true, disableOriginCheck: true },
    plugins: [twoFactor({ issuer: 'Carillon', accountLockout: { enabled: false } })],
  });

  const { sql, txSql, passwords } = deps;

  interface Given {
    readonly headers: Headers;
    readonly returnHeaders: true;
  }
  interface Called<Answer> {
    readonly response: Answer;
    cookie(name: string): string | undefined;
  }
  /**
   * Calls better-auth. A refusal of its own is the 401 of wrong credentials, and what it wrote
   * stays: the count of wrong codes. An error of the store undoes everything.
   */
  const call = async <Answer>(
    { act, tx = null, verified = null }: Pick<Occasion, 'act'> & Partial<Occasion>,
    { session, step, address, userAgent }: AuthRequest,
    work: (given: Given) => Promise<{ headers: Headers; response: Answer }>,
  ): Promise<Called<Answer> | null> => {
    const cookies = [
      ...(session === null ? [] : [`${sessionCookie}=${session}`]),
      ...(step === null ? [] : [`${stepCookie}=${step}`]),
    ];
    const headers = new Headers({ cookie: cookies.join('; ') });
    const failures: unknown[] = [];
    const fail = (error: unknown): unknown => failures.push(error);
    try {
      const { headers: answered, response } = await occasions.run({ act, tx, verified, address, userAgent, fail }, () =>
        work({ headers, returnHeaders: true }),
      );
      if (failures.length > 0) throw failures[0];
      return { response, cookie: (name) => cookieIn(answered, name) };
    } catch (error) {
      if (failures.length > 0) throw failures[0];
      if (error instanceof APIError && error.statusCode < 500) return null;
      throw error;
    }
  };
  /**
   * Calls better-auth in one transaction, so that a change and its audit entry are whole or not
   * there.
   */
  const callWhole = async <Answer>(
    occasion: Pick<Occasion, 'act'> & Partial<Occasion>,
    request: AuthRequest,
    work: (given: Given) => Promise<{ headers: Headers; response: Answer }>,
    before: (tx: Tx) => Promise<void> = async () => undefined,
  ): Promise<Called<Answer>> =>
    admitted(
      await transaction(txSql, async (tx) => {
        await before(tx);
        return call({ ...occasion, tx }, request, work);
      }),
    );
  const accountOfStep: Auth['accountOfStep'] = async (step) => {
    const id = step === null ? undefined : await findStepAccountId(sql, tokenOf(step));
    return id === undefined ? undefined : findAccount(sql, id);
  };
  const verifyPassword = async (accountId: Uuid, password: string): Promise<Occasion['verified']> => {
    const hash = await findPasswordHash(sql, accountId);
    if (hash === null || !(await passwords.verify(hash, password))) throw new ApiError('wrong_credentials');
    return { hash, password };
  };
  /**
   * Judges a code by the service's clock, and throws for one whose time step was accepted before.
   * Resolves with the code for better-auth, which judges by the host's clock.
   */
  const spendCode = async (tx: Tx, accountId: Uuid, code: string): Promise<string> => {
    const sealed = await findSecondFactorSeed(tx, accountId);
    if (sealed === undefined) return code;
    const { secretConfig: key } = await auth.$context;
    const seed = await symmetricDecrypt({ key, data: sealed });
    const step = findTotpStep(seed, code, deps.clock.nowMs());
    const hostMs = Date.now();
    // A wrong code goes to better-auth, which counts it.
    if (step === undefined && findTotpStep(seed, code, hostMs) === undefined) return code;
    if (step === undefined || !(await spendTotpStep(tx, accountId, step))) throw new ApiError('wrong_credentials');
    return codeAt(seed, hostMs);
  };
  const verifyCode = async (occasion: Pick<Occasion, 'act'>, request: AuthRequest, code: string, id?: Uuid) => {
    let known = code;
    const verify = (given: Given) => auth.api.verifyTOTP({ ...given, body: { code: known } });
    const spend = async (tx: Tx): Promise<void> => {
      if (id !== undefined) known = await spendCode(tx, id, code);
    };
    return sessionIn(await callWhole(occasion, request, verify, spend));
  };
  const sessionIn = (answer: { cookie(name: string): string | undefined }): SignedIn => {
    const session = answer.cookie(sessionCookie);
    if (!session) throw new Error('better-auth made no session');
    return { session };
  };

  return {
    async signIn(request, body) {
      const answer = admitted(
        await call({ act: 'password' }, { ...request, session: null, step: null }, (given) =>
          auth.api.signInEmail({ ...given, body }),
        ),
      );
      const step = answer.cookie(stepCookie);
      return step ? { step } : sessionIn(answer);
    },
    accountOfStep,
    async verifyStep(request, code, kind) {
      const alone = { ...request, session: null };
      const act = 'second factor';
      if (kind === 'recovery') {
        return sessionIn(
          await callWhole({ act }, alone, (given) => auth.api.verifyBackupCode({ ...given, body: { code } })),
        );
      }
      const account = await accountOfStep(request.step);
      return verifyCode({ act }, alone, code, account?.id);
    },
    async beginSecondFactor(request, accountId, password) {
      const verified = await verifyPassword(accountId, password);
      const { response } = await callWhole({ act: 'settings', verified }, request, (given) =>
        auth.api.enableTwoFactor({ ...given, body: { password } }),
      );
      if (response.method !== 'totp') throw new Error('better-auth made another kind of second factor');
      return { uri: response.totpURI, recoveryCodes: response.backupCodes };
    },
    confirmSecondFactor: (request, accountId, code) => verifyCode({ act: 'settings' }, request, code, accountId),
    async removeSecondFactor(request, accountId, password) {
      const verified = await verifyPassword(accountId, password);
      return sessionIn(
        await callWhole({ act: 'settings', verified }, request, (given) =>
          auth.api.disableTwoFactor({ ...given, body: { password } }),
        ),
      );
    },
    async renewRecoveryCodes(request, accountId, password) {
      const verified = await verifyPassword(accountId, password);
      const { response } = await callWhole({ act: 'settings', verified }, request, (given) =>
        auth.api.generateBackupCodes({ ...given, body: { password } }),
      );
      return response.backupCodes;
    },
  };
}

/** Throws the 401 for a call that better-auth refused. */
function admitted<Called>(called: Called | null): Called {
  if (called === null) throw new ApiError('wrong_credentials');
  return called;
}

function cookieIn(headers: Headers, name: string): string | undefined {
  for (const line of headers.getSetCookie()) {
    const [pair = ''] = line.split(';');
    const value = pair.startsWith(`${name}=`) ? pair.slice(name.length + 1) : '';
    if (value !== '') return value;
  }
  return undefined;
}
