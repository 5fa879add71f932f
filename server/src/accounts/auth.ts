// better-auth over our own tables: it checks passwords and second factors, and makes the tokens of
// sessions. Every other rule of a session is ours (`queries.ts`, the console's guard). It is never
// reached over HTTP: the console's routes call it, and give its cookies our names.
import { AsyncLocalStorage } from 'node:async_hooks';
import { betterAuth } from 'better-auth';
import { createAdapterFactory } from 'better-auth/adapters';
import { APIError } from 'better-auth/api';
import { symmetricDecrypt } from 'better-auth/crypto';
import { twoFactor } from 'better-auth/plugins/two-factor';
import type { AuditAction, AuditFields } from '../audit/entry.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { Clock } from '../database/clock.ts';
import { type Sql, type Tx, transaction } from '../database/db.ts';
import { encodeId, mintUuid, type Uuid } from '../ground/ids.ts';
import { ApiError } from '../http/api-error.ts';
import { type Account, findAccount, findPasswordHash } from './account-queries.ts';
import {
  type Condition,
  deleteRecords,
  deleteSessionByHash,
  findRecords,
  findSecondFactorSeed,
  findSessionRecord,
  findStepAccountId,
  insertSecondFactor,
  insertStep,
  spendTotpStep,
  updateSecondFactor,
  updateTwoFactorEnabled,
} from './auth-queries.ts';
import type { Passwords } from './password.ts';
import { deleteSessionsOf, insertSession } from './queries.ts';
import { hashSecret } from './session.ts';
import { type AuthSecret, tokenOf } from './signed-token.ts';
import { findTotpStep } from './totp-step.ts';

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

/** Says to the store in which call of ours it is asked. */
interface Occasion {
  readonly address: string;
  readonly userAgent: string | null;
  readonly act: 'password' | 'second factor' | 'settings';
  /**
   * The transaction of the call. Null: a password is hashed meanwhile, and no transaction waits for
   * it.
   */
  readonly tx: Tx | null;
  /** The password that was verified before the transaction began. */
  readonly verified: { readonly hash: string; readonly password: string } | null;
  /** Keeps an error of the store, because better-auth takes some of them for a missing record. */
  fail(error: unknown): void;
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
  /** Throws for a code whose time step was accepted before. better-auth judges codes of no step. */
  const spendCode = async (tx: Tx, accountId: Uuid, code: string): Promise<void> => {
    const sealed = await findSecondFactorSeed(tx, accountId);
    if (sealed === undefined) return;
    const { secretConfig: key } = await auth.$context;
    const step = findTotpStep(await symmetricDecrypt({ key, data: sealed }), code, Date.now());
    if (step !== undefined && !(await spendTotpStep(tx, accountId, step))) throw new ApiError('wrong_credentials');
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
      const verify = (given: Given) => auth.api.verifyTOTP({ ...given, body: { code } });
      return sessionIn(
        await callWhole({ act }, alone, verify, async (tx) => {
          if (account) await spendCode(tx, account.id, code);
        }),
      );
    },
    async beginSecondFactor(request, accountId, password) {
      const verified = await verifyPassword(accountId, password);
      const { response } = await callWhole({ act: 'settings', verified }, request, (given) =>
        auth.api.enableTwoFactor({ ...given, body: { password } }),
      );
      if (response.method !== 'totp') throw new Error('better-auth made another kind of second factor');
      return { uri: response.totpURI, recoveryCodes: response.backupCodes };
    },
    async confirmSecondFactor(request, accountId, code) {
      const verify = (given: Given) => auth.api.verifyTOTP({ ...given, body: { code } });
      return sessionIn(await callWhole({ act: 'settings' }, request, verify, (tx) => spendCode(tx, accountId, code)));
    },
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

type Fields = Record<string, unknown>;

/** The store that better-auth reads and writes, over our pools. */
function createStore({ sql, txSql, clock }: AuthDeps, occasion: () => Occasion | undefined) {
  const reader = (): Sql | Tx => occasion()?.tx ?? sql;
  const inTransaction = async <Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> => {
    const tx = occasion()?.tx;
    return tx ? work(tx) : (transaction(txSql, work) as Promise<Result>);
  };
  const audited = async <Result>(
    accountId: Uuid,
    action: AuditAction,
    after: AuditFields | undefined,
    work: (tx: Tx) => Promise<Result>,
  ): Promise<Result> =>
    inTransaction(async (tx) => {
      const result = await work(tx);
      // Nothing was changed: the record is gone, or somebody else changed it first.
      if (result === null) return result;
      const account = await findAccount(tx, accountId);
      const by = {
        kind: 'person' as const,
        id: encodeId('acc', accountId),
        name: account?.email ?? '',
        address: occasion()?.address ?? null,
      };
      const change = {
        appId: null,
        orgId: account?.organisationId ?? null,
        action,
        target: encodeId('acc', accountId),
      };
      await recordAudit({ tx, clock, by }, { ...change, ...(after && { after }) });
      return result;
    });

  const createSession = async (data: Fields): Promise<Fields> => {
    const [accountId, token] = [String(data['userId']), String(data['token'])];
    const session = { ...data, id: mintUuid(clock.nowMs()) };
    const account = await findAccount(reader(), accountId);
    // After the password alone, a person with a second factor has no session yet. better-auth
    // deletes the one that it makes here; it is never stored.
    if (occasion()?.act === 'password' && account?.twoFactorEnabled) return session;
    const { address = null, userAgent = null } = occasion() ?? {};
    const after = { second_factor: account?.twoFactorEnabled ?? false };
    await audited(accountId, 'session.begin', after, (tx) =>
      insertSession(tx, clock, { id: session.id, tokenHash: hashSecret(token), accountId, address, userAgent }),
    );
    return session;
  };
  const tokenIn = (where: readonly Condition[]): string | undefined => {
    const [one, ...more] = where;
    return one?.field === 'token' && more.length === 0 ? String(one.value) : undefined;
  };
  const find = async (
    model: string,
    where: readonly Condition[],
    options: { readonly limit: number; readonly isNewestFirst?: boolean },
  ): Promise<Fields[]> => {
    if (model !== 'session') return findRecords(reader(), model, where, options);
    const token = tokenIn(where);
    if (token === undefined) throw new Error('better-auth asks for sessions in an unknown way');
    const session = await findSessionRecord(reader(), hashSecret(token), token);
    return session ? [session] : [];
  };
  const remove = async (model: string, where: readonly Condition[]): Promise<Fields[]> => {
    if (model !== 'session') return inTransaction((tx) => deleteRecords(tx, model, where)) as Promise<Fields[]>;
    const token = tokenIn(where);
    const [one] = where;
    if (token !== undefined) await inTransaction((tx) => deleteSessionByHash(tx, hashSecret(token)));
    else if (one?.field === 'userId' && where.length === 1) {
      await inTransaction((tx) => deleteSessionsOf(tx, String(one.value)));
    } else throw new Error('better-auth deletes sessions in an unknown way');
    return [];
  };
  const update = async (model: string, where: readonly Condition[], fields: Fields): Promise<Fields | null> => {
    if (model === 'user' && typeof fields['twoFactorEnabled'] === 'boolean') {
      const isEnabled = fields['twoFactorEnabled'];
      const [account] = await findRecords(reader(), 'user', where, { limit: 1 });
      if (!account) return null;
      const action = isEnabled ? 'two_factor.enable' : 'two_factor.disable';
      const id = String(account['id']);
      return audited(id, action, undefined, async (tx) => (await updateTwoFactorEnabled(tx, where, isEnabled)) ?? null);
    }
    if (model === 'twoFactor') {
      const [former] = await findRecords(reader(), model, where, { limit: 1 });
      if (!former) return null;
      const change = async (tx: Tx): Promise<Fields | null> => (await updateSecondFactor(tx, where, fields)) ?? null;
      const accountId = String(former['userId']);
      if (fields['secret'] !== undefined) return audited(accountId, 'two_factor.begin', undefined, change);
      if (fields['backupCodes'] === undefined) return inTransaction(change);
      const isUsed = occasion()?.act === 'second factor';
      return audited(accountId, isUsed ? 'two_factor.use_code' : 'two_factor.renew_codes', undefined, change);
    }
    throw new Error(`better-auth changes ${model} in an unknown way: ${Object.keys(fields).join(', ')}`);
  };

  return keepErrors(
    {
      // better-auth's types let each call choose the record's type; ours are what the tables hold.
      async create({ model, data }: { model: string; data: Fields }) {
        if (model === 'session') return createSession(data) as never;
        if (model === 'verification') return inTransaction((tx) => insertStep(tx, data)) as never;
        if (model === 'twoFactor') {
          const accountId = String(data['userId']);
          return audited(accountId, 'two_factor.begin', undefined, (tx) => insertSecondFactor(tx, data)) as never;
        }
        throw new Error(`better-auth makes an unknown ${model}`);
      },
      async findOne({ model, where }: { model: string; where: Condition[] }) {
        return ((await find(model, where, { limit: 1 }))[0] ?? null) as never;
      },
      async findMany({
        model,
        where = [],
        limit,
        sortBy,
      }: {
        model: string;
        where?: Condition[] | undefined;
        limit: number;
        sortBy?: { field: string } | undefined;
      }) {
        return (await find(model, where, { limit, isNewestFirst: sortBy?.field === 'createdAt' })) as never;
      },
      async update({ model, where, update: fields }: { model: string; where: Condition[]; update: unknown }) {
        return update(model, where, fields as Fields) as never;
      },
      // A recovery code is used up by comparing and setting in one statement.
      async incrementOne({
        model,
        where,
        increment,
        set = {},
      }: {
        model: string;
        where: Condition[];
        increment: Record<string, number>;
        set?: Record<string, unknown> | undefined;
      }) {
        if (Object.keys(increment).length > 0) throw new Error(`better-auth counts in ${model}`);
        return update(model, where, set) as never;
      },
      async updateMany({ model }: { model: string }): Promise<number> {
        throw new Error(`better-auth changes many of ${model}`);
      },
      async delete({ model, where }: { model: string; where: Condition[] }): Promise<void> {
        await remove(model, where);
      },
      async deleteMany({ model, where }: { model: string; where: Condition[] }): Promise<number> {
        return (await remove(model, where)).length;
      },
      async consumeOne({ model, where }: { model: string; where: Condition[] }) {
        return ((await remove(model, where))[0] ?? null) as never;
      },
      async count({ model, where = [] }: { model: string; where?: Condition[] | undefined }): Promise<number> {
        return (await find(model, where, { limit: 1000 })).length;
      },
    },
    (error) => occasion()?.fail(error),
  );
}

/** Tells of each error of the store, which better-auth may take for a missing record. */
function keepErrors<Store extends object>(store: Store, tell: (error: unknown) => void): Store {
  const kept = Object.entries(store).map(([name, method]) => [
    name,
    async (...given: unknown[]) => {
      try {
        return await method(...given);
      } catch (error) {
        tell(error);
        throw error;
      }
    },
  ]);
  return Object.fromEntries(kept) as Store;
}
