// The store of better-auth: its records are rows of our own tables, and its changes have entries in
// the audit log.
import type { AuditAction, AuditFields } from '../audit/entry.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { Clock } from '../database/clock.ts';
import { type Sql, type Tx, transaction } from '../database/db.ts';
import { encodeId, mintUuid, type Uuid } from '../ground/ids.ts';
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
import { deleteSessionsOf, insertSession } from './queries.ts';
import { hashSecret } from './session.ts';

/** The call of ours in which better-auth asks the store. */
export interface Occasion {
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

interface StoreDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
}

type Fields = Record<string, unknown>;

/** The store that better-auth reads and writes, over our pools. */
export function createStore({ sql, txSql, clock }: StoreDeps, occasion: () => Occasion | undefined) {
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
