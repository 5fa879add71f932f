// better-auth over our own tables: it checks passwords and second factors, and makes the tokens of
// sessions. Every other rule of a session is ours (`queries.ts`, the console's guard). It is never
// reached over HTTP: the console's routes call it, and give its cookies our names.
import { AsyncLocalStorage } from 'node:async_hooks';
import { betterAuth } from 'better-auth';
import { createAdapterFactory } from 'better-auth/adapters';
import { APIError } from 'better-auth/api';
import { twoFactor } from 'better-auth/plugins/two-factor';
import type { AuditAction, AuditFields } from '../audit/entry.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { Clock } from '../database/clock.ts';
import { type Sql, type Tx, transaction } from '../database/db.ts';
import { encodeId, mintUuid, type Uuid } from '../ground/ids.ts';
import { ApiError } from '../http/api-error.ts';
import { findAccount } from './account-queries.ts';
import {
  type Condition,
  deleteRecords,
  deleteSessionByHash,
  findRecords,
  findSessionRecord,
  insertSecondFactor,
  insertStep,
  updateSecondFactor,
  updateTwoFactorEnabled,
} from './auth-queries.ts';
import type { Passwords } from './password.ts';
import { deleteSessionsOf, insertSession } from './queries.ts';
import { hashSecret } from './session.ts';
import type { AuthSecret } from './signed-token.ts';

/** What a request shows of itself. */
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
  /** The second step of a sign-in. */
  verifyStep(request: AuthRequest, code: string, kind: 'totp' | 'recovery'): Promise<SignedIn>;
  /** Makes a second factor, which counts from its first code on. */
  beginSecondFactor(request: AuthRequest, password: string): Promise<SecondFactor>;
  /** The first code: the second factor counts, and the session has a new token. */
  confirmSecondFactor(request: AuthRequest, code: string): Promise<SignedIn>;
  removeSecondFactor(request: AuthRequest, password: string): Promise<SignedIn>;
  renewRecoveryCodes(request: AuthRequest, password: string): Promise<readonly string[]>;
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
        verify: ({ hash, password }) => deps.passwords.verify(hash, password),
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

  const call = async <Answer>(
    act: Occasion['act'],
    request: AuthRequest,
    work: (given: { headers: Headers; returnHeaders: true }) => Promise<{ headers: Headers; response: Answer }>,
  ): Promise<{ readonly response: Answer; cookie(name: string): string | undefined }> => {
    const { session, step, address, userAgent } = request;
    const cookies = [
      ...(session === null ? [] : [`${sessionCookie}=${session}`]),
      ...(step === null ? [] : [`${stepCookie}=${step}`]),
    ];
    const headers = new Headers({ cookie: cookies.join('; ') });
    try {
      const { headers: answered, response } = await occasions.run({ act, address, userAgent }, () =>
        work({ headers, returnHeaders: true }),
      );
      return { response, cookie: (name) => cookieIn(answered, name) };
    } catch (error) {
      if (error instanceof APIError && error.statusCode < 500) throw new ApiError('wrong_credentials');
      throw error;
    }
  };
  const sessionIn = (answer: { cookie(name: string): string | undefined }): SignedIn => {
    const session = answer.cookie(sessionCookie);
    if (!session) throw new Error('better-auth made no session');
    return { session };
  };

  return {
    async signIn(request, body) {
      const answer = await call('password', { ...request, session: null, step: null }, (given) =>
        auth.api.signInEmail({ ...given, body }),
      );
      const step = answer.cookie(stepCookie);
      return step ? { step } : sessionIn(answer);
    },
    async verifyStep(request, code, kind) {
      const alone = { ...request, session: null };
      return sessionIn(
        kind === 'totp'
          ? await call('second factor', alone, (given) => auth.api.verifyTOTP({ ...given, body: { code } }))
          : await call('second factor', alone, (given) => auth.api.verifyBackupCode({ ...given, body: { code } })),
      );
    },
    async beginSecondFactor(request, password) {
      const { response } = await call('settings', request, (given) =>
        auth.api.enableTwoFactor({ ...given, body: { password } }),
      );
      if (response.method !== 'totp') throw new Error('better-auth made another kind of second factor');
      return { uri: response.totpURI, recoveryCodes: response.backupCodes };
    },
    async confirmSecondFactor(request, code) {
      return sessionIn(await call('settings', request, (given) => auth.api.verifyTOTP({ ...given, body: { code } })));
    },
    async removeSecondFactor(request, password) {
      return sessionIn(
        await call('settings', request, (given) => auth.api.disableTwoFactor({ ...given, body: { password } })),
      );
    },
    async renewRecoveryCodes(request, password) {
      const { response } = await call('settings', request, (given) =>
        auth.api.generateBackupCodes({ ...given, body: { password } }),
      );
      return response.backupCodes;
    },
  };
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
  const audited = async <Result>(
    accountId: Uuid,
    action: AuditAction,
    after: AuditFields | undefined,
    work: (tx: Tx) => Promise<Result>,
  ): Promise<Result> =>
    transaction(txSql, async (tx) => {
      const result = await work(tx);
      // Nothing was changed: the record is gone, or somebody else changed it first.
      if (result === null) return result;
      const account = await findAccount(tx, accountId);
      const by = {
        ...{ kind: 'person' as const, id: encodeId('acc', accountId) },
        ...{ name: account?.email ?? '', address: occasion()?.address ?? null },
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
    const account = await findAccount(sql, accountId);
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
    if (model !== 'session') return findRecords(sql, model, where, options);
    const token = tokenIn(where);
    if (token === undefined) throw new Error('better-auth asks for sessions in an unknown way');
    const session = await findSessionRecord(sql, hashSecret(token), token);
    return session ? [session] : [];
  };
  const remove = async (model: string, where: readonly Condition[]): Promise<Fields[]> => {
    if (model !== 'session') return transaction(txSql, (tx) => deleteRecords(tx, model, where)) as Promise<Fields[]>;
    const token = tokenIn(where);
    const [one] = where;
    if (token !== undefined) await deleteSessionByHash(txSql, hashSecret(token));
    else if (one?.field === 'userId' && where.length === 1) await deleteSessionsOf(txSql, String(one.value));
    else throw new Error('better-auth deletes sessions in an unknown way');
    return [];
  };
  const update = async (model: string, where: readonly Condition[], fields: Fields): Promise<Fields | null> => {
    if (model === 'user' && typeof fields['twoFactorEnabled'] === 'boolean') {
      const isEnabled = fields['twoFactorEnabled'];
      const [account] = await findRecords(sql, 'user', where, { limit: 1 });
      if (!account) return null;
      const action = isEnabled ? 'two_factor.enable' : 'two_factor.disable';
      const id = String(account['id']);
      return audited(id, action, undefined, async (tx) => (await updateTwoFactorEnabled(tx, where, isEnabled)) ?? null);
    }
    if (model === 'twoFactor') {
      const [former] = await findRecords(sql, model, where, { limit: 1 });
      if (!former) return null;
      const change = async (tx: Tx): Promise<Fields | null> => (await updateSecondFactor(tx, where, fields)) ?? null;
      const isRenewed = fields['backupCodes'] !== undefined && fields['secret'] === undefined;
      if (!isRenewed) return transaction(txSql, change);
      const isUsed = occasion()?.act === 'second factor';
      return audited(
        String(former['userId']),
        isUsed ? 'two_factor.use_code' : 'two_factor.renew_codes',
        undefined,
        change,
      );
    }
    throw new Error(`better-auth changes ${model} in an unknown way: ${Object.keys(fields).join(', ')}`);
  };

  return {
    // better-auth's types let each call choose the record's type; ours are what the tables hold.
    async create({ model, data }: { model: string; data: Fields }) {
      if (model === 'session') return createSession(data) as never;
      if (model === 'verification') return insertStep(txSql, data) as never;
      if (model === 'twoFactor') return insertSecondFactor(txSql, data) as never;
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
  };
}
