// SQL: the records that better-auth reads and writes. Its models are tables of ours. Each write is
// a statement of its own; reads and deletions compare columns that the model's table below names.
import { randomUUID } from 'node:crypto';
import type { Fragment, Sql, Tx } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';

export interface Condition {
  readonly field: string;
  readonly value: unknown;
  readonly operator?: string | undefined;
  readonly connector?: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

interface Model {
  readonly table: string;
  /** The column of each field that we keep. */
  readonly columns: Readonly<Record<string, string>>;
  /** Fields that we do not keep, with the value that better-auth sees. */
  readonly fixed: Fields;
}

const times = { createdAt: 'created_at', updatedAt: 'updated_at' };

const models: Readonly<Record<string, Model>> = {
  user: {
    table: 'accounts',
    columns: { id: 'id', email: 'email', name: 'name', twoFactorEnabled: 'two_factor_enabled', ...times },
    fixed: { emailVerified: true, image: null },
  },
  account: {
    table: 'account_logins',
    columns: {
      id: 'id',
      userId: 'account_id',
      providerId: 'provider',
      accountId: 'subject',
      password: 'password_hash',
      ...times,
    },
    fixed: {},
  },
  verification: {
    table: 'login_steps',
    columns: { id: 'id', identifier: 'identifier', value: 'value', expiresAt: 'expires_at', ...times },
    fixed: {},
  },
  twoFactor: {
    table: 'second_factors',
    columns: {
      id: 'id',
      userId: 'account_id',
      secret: 'secret',
      backupCodes: 'backup_codes',
      verified: 'is_verified',
    },
    fixed: {},
  },
};

function modelOf(name: string): Model {
  const model = models[name];
  if (!model) throw new Error(`better-auth has a model that we do not keep: ${name}`);
  return model;
}

function columnOf({ table, columns }: Model, field: string): string {
  const column = columns[field];
  if (!column) throw new Error(`${table} has no column for ${field}`);
  return column;
}

const operators: Readonly<Record<string, (tx: Tx, column: Fragment, value: unknown) => Fragment>> = {
  eq: (tx, column, value) => (value === null ? tx`${column} IS NULL` : tx`${column} = ${value as string}`),
  ne: (tx, column, value) => tx`${column} <> ${value as string}`,
  lt: (tx, column, value) => tx`${column} < ${value as Date}`,
  lte: (tx, column, value) => tx`${column} <= ${value as Date}`,
  gt: (tx, column, value) => tx`${column} > ${value as Date}`,
  gte: (tx, column, value) => tx`${column} >= ${value as Date}`,
};

function whereOf(tx: Tx, model: Model, where: readonly Condition[]): Fragment {
  return where.reduce((all, { field, value, operator = 'eq', connector = 'AND' }) => {
    const compare = operators[operator];
    if (!compare || connector !== 'AND')
      throw new Error(`better-auth compares in an unknown way: ${operator} ${connector}`);
    return tx`${all} AND ${compare(tx, tx`${tx(columnOf(model, field))}`, value)}`;
  }, tx`true`);
}

/** Columns come back in camel case; better-auth has names of its own. */
function present({ columns, fixed }: Model, row: Fields): Record<string, unknown> {
  const camel = (column: string): string => column.replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());
  const own = Object.entries(columns).map(([field, column]) => [field, row[camel(column)]]);
  return { ...fixed, ...Object.fromEntries(own) };
}

/** The records that fit all conditions, newest first where `isNewestFirst`. */
export async function findRecords(
  sql: Sql | Tx,
  name: string,
  where: readonly Condition[],
  { limit, isNewestFirst = false }: { readonly limit: number; readonly isNewestFirst?: boolean },
): Promise<Record<string, unknown>[]> {
  const model = modelOf(name);
  const order = isNewestFirst ? sql`ORDER BY created_at DESC` : sql``;
  const rows = await sql<Fields[]>`
    SELECT * FROM ${sql(model.table)} WHERE ${whereOf(sql, model, where)} ${order} LIMIT ${limit}`;
  return rows.map((row) => present(model, row));
}

/** Deletes the records that fit all conditions, and returns them. */
export async function deleteRecords(tx: Tx, name: string, where: readonly Condition[]): Promise<Fields[]> {
  const model = modelOf(name);
  const rows = await tx<Fields[]>`
    DELETE FROM ${tx(model.table)} WHERE ${whereOf(tx, model, where)} RETURNING *`;
  return rows.map((row) => present(model, row));
}

/** Stores what a sign-in of several steps remembers. */
export async function insertStep(tx: Tx, { identifier, value, expiresAt }: Fields): Promise<Fields> {
  const [row] = await tx<Fields[]>`
    INSERT INTO login_steps (id, identifier, value, expires_at)
    VALUES (${randomUUID()}, ${identifier as string}, ${value as string}, ${expiresAt as Date}) RETURNING *`;
  return present(modelOf('verification'), row ?? {});
}

/** Stores a second factor that its person has not shown to have yet. */
export async function insertSecondFactor(tx: Tx, { userId, secret, backupCodes, verified }: Fields): Promise<Fields> {
  const [row] = await tx<Fields[]>`
    INSERT INTO second_factors (id, account_id, secret, backup_codes, is_verified)
    VALUES (${randomUUID()}, ${userId as Uuid}, ${secret as string}, ${backupCodes as string}, ${verified === true})
    RETURNING *`;
  return present(modelOf('twoFactor'), row ?? {});
}

/** Changes the fields that are given of a second factor, and returns it; undefined: it is gone. */
export async function updateSecondFactor(
  tx: Tx,
  where: readonly Condition[],
  { secret = null, backupCodes = null, verified = null }: Fields,
): Promise<Fields | undefined> {
  const model = modelOf('twoFactor');
  const [row] = await tx<Fields[]>`
    UPDATE second_factors SET secret = coalesce(${secret as string | null}, secret),
      backup_codes = coalesce(${backupCodes as string | null}, backup_codes),
      is_verified = coalesce(${verified as boolean | null}, is_verified),
      last_step = CASE WHEN ${secret as string | null}::text IS NULL THEN last_step ELSE 0 END
    WHERE ${whereOf(tx, model, where)} RETURNING *`;
  return row && present(model, row);
}

/** Finds the encrypted seed of an account's second factor; undefined: it has none. */
export async function findSecondFactorSeed(tx: Tx, accountId: Uuid): Promise<string | undefined> {
  const [row] = await tx<{ secret: string }[]>`SELECT secret FROM second_factors WHERE account_id = ${accountId}`;
  return row?.secret;
}

/** Accepts a time step of an authenticator, once. False: it or a later one was accepted before. */
export async function spendTotpStep(tx: Tx, accountId: Uuid, step: number): Promise<boolean> {
  const result = await tx`
    UPDATE second_factors SET last_step = ${step} WHERE account_id = ${accountId} AND last_step < ${step}`;
  return result.count === 1;
}

/**
 * Finds the account of a step between password and second factor; undefined: there is no such step.
 */
export async function findStepAccountId(sql: Sql, identifier: string): Promise<Uuid | undefined> {
  const [row] = await sql<{ id: Uuid }[]>`
    SELECT a.id FROM login_steps s JOIN accounts a ON a.id::text = s.value WHERE s.identifier = ${identifier}`;
  return row?.id;
}

/** Says whether an account has a second factor; undefined: the account is gone. */
export async function updateTwoFactorEnabled(
  tx: Tx,
  where: readonly Condition[],
  isEnabled: boolean,
): Promise<Fields | undefined> {
  const model = modelOf('user');
  const [row] = await tx<Fields[]>`
    UPDATE accounts SET two_factor_enabled = ${isEnabled}, updated_at = now()
    WHERE ${whereOf(tx, model, where)} RETURNING *`;
  return row && present(model, row);
}

/** A session as better-auth reads it: by the hash of its token. */
export async function findSessionRecord(sql: Sql | Tx, tokenHash: Buffer, token: string): Promise<Fields | undefined> {
  const [row] = await sql<{ id: string; accountId: string; createdAt: Date; lastUsedAt: Date; expiresAt: Date }[]>`
    SELECT id, account_id, created_at, last_used_at, created_at + interval '7 days' AS expires_at
    FROM account_sessions WHERE token_hash = ${tokenHash}`;
  if (!row) return undefined;
  const { id, accountId: userId, createdAt, lastUsedAt: updatedAt, expiresAt } = row;
  return { id, userId, token, createdAt, updatedAt, expiresAt, ipAddress: null, userAgent: null };
}

/** Ends the session of this token. */
export async function deleteSessionByHash(tx: Tx, tokenHash: Buffer): Promise<void> {
  await tx`DELETE FROM account_sessions WHERE token_hash = ${tokenHash}`;
}

/**
 * Deletes the steps of sign-ins that were never finished, and failures that delay nobody any more.
 */
export async function deleteOldSteps(sql: Sql): Promise<void> {
  await sql`DELETE FROM login_steps WHERE expires_at < now() - interval '1 day'`;
  await sql`DELETE FROM login_failures WHERE last_at < now() - interval '1 day'`;
  await sql`DELETE FROM account_sessions WHERE created_at < now() - interval '8 days'`;
}
