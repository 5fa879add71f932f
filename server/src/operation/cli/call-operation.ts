// Calls an operation of the console's API as this machine's operator: without HTTP, on the
// command's database, for an app of any organisation.
import { randomBytes } from 'node:crypto';
import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import type { AreaDeps } from '../../console/operations/area.ts';
import type { AppCaller } from '../../console/operations/caller.ts';
import { createTeller } from '../../ground/database/teller.ts';
import { createLog } from '../../ground/host/log.ts';
import { programName } from '../../ground/host/program-name.ts';
import { createCursors } from '../../ground/http/page.ts';
import type { Route } from '../../ground/http/route.ts';
import { createAddressGuard } from '../../ground/outbound/address-guard.ts';
import { createOutboundHttp } from '../../ground/outbound/http.ts';
import { createOutboundSockets } from '../../ground/outbound/socket.ts';
import type { Seal } from '../../ground/secrets/seal.ts';
import { decodeId, type Uuid } from '../../ground/values/ids.ts';
import { findMessageToSend } from '../../sending/messages/queries.ts';
import { findWebhook } from '../../sending/webhooks/queries.ts';
import { findKey } from '../../teams/apps/key-queries.ts';
import { type App, findApp, firstOrganisationId, listApps } from '../../teams/apps/queries.ts';
import { loadPlans } from '../../teams/quotas/plan.ts';
import { sandboxedChannels } from '../process/sandboxed-channels.ts';
import { CommandError } from './answer.ts';
import type { CommandContext } from './context.ts';
import { endpointRulesOf } from './endpoint-rules.ts';
import { getApp } from './find-app.ts';
import { printable } from './render.ts';

/** The parts that operations work with; a command has those that its operation needs. */
export type OperationDeps = AreaDeps;
export type Operation = Route<OperationDeps, AppCaller>;

export interface Call {
  readonly operation: Operation;
  /** Values by name: parameters of the path, of the query, and fields of the body. */
  readonly given: Readonly<Record<string, unknown>>;
  /** Whether the operation seals or opens secrets, which needs the master key. */
  readonly seals?: boolean | undefined;
  /** Whether a list has what every organisation has. */
  readonly ofAll?: boolean | undefined;
  /** Parts in place of the usual ones. */
  readonly parts?: Partial<OperationDeps> | undefined;
}

/**
 * Calls the operation and resolves with its answer. A list is read page by page, up to `limit`.
 * Throws the operation's `ApiError`, and a `CommandError` for an app, key, webhook or token that
 * there is not.
 */
export async function callOperation(
  context: CommandContext,
  { operation, given, seals = false, ofAll = false, parts }: Call,
): Promise<object> {
  const { sql, clock, config } = context;
  const pick = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, given[name]]));
  const params = pick(Object.keys(operation.params)) as Record<string, string>;
  const place = await findPlace(sql, params);
  const rules = endpointRulesOf(config);
  const http = createOutboundHttp(createOutboundSockets(createAddressGuard(rules)));
  const log = createLog('silent', 'command');
  const teller = createTeller({ sql, log });
  const deps = {
    sql,
    txSql: sql,
    countSql: sql,
    countTurns: { run: (_app: Uuid, work: () => Promise<unknown>) => work() },
    clock,
    // No cursor outlives this command.
    cursors: createCursors(randomBytes(32), clock),
    seal: seals ? await context.loadSeal() : sealOfNothing,
    plans: loadPlans(config.plansFile, []),
    defaultPlan: config.defaultPlan,
    fcmTokenUrl: config.fcmTokenUrl,
    sandboxed: sandboxedChannels(config),
    teller,
    ledger: { find: findMessageToSend },
    posts: { http, rules },
    ...parts,
  } as unknown as OperationDeps;
  const ask = (query: Record<string, string>, body?: unknown, owner = place.organisationId): Promise<object> =>
    operation.answer(deps, {
      // Operations of no app read none.
      caller: { ...operator, ...place, by: context.by, organisationId: owner } as AppCaller,
      method: operation.method,
      params,
      query,
      body,
      header: () => [],
      id: 'command',
      log,
      address: '',
      aside: (work) => work(),
      gone: () => new AbortController().signal,
    });
  const { limit, ...query } = defined(pick(Object.keys(operation.query.shape))) as Record<string, string>;
  const fields = operation.body && bodyShape(operation);
  const body = fields && {
    ...defined(pick(Object.keys(fields))),
    // The command changes what it has just read.
    ...(fields['updated_at']?.safeParse(undefined).success === false && {
      updated_at: place.app?.updatedAt.toISOString(),
    }),
  };
  try {
    if (!('cursor' in operation.query.shape)) return await ask(query, body ?? undefined);
    const owners = ofAll ? new Set((await listApps(sql)).map(({ organisationId }) => organisationId)) : [];
    const lists = [];
    for (const owner of new Set([place.organisationId, ...owners])) {
      lists.push(await readPages((page) => ask({ ...query, ...page }, undefined, owner), Number(limit ?? Infinity)));
    }
    return { ...lists[0], data: lists.flatMap(({ data }) => data) };
  } finally {
    http.close();
    await teller.close();
  }
}

const operator = { role: 'owner', session: null, cookieForm: null } as const;

/** The fields of an operation's body. */
export function bodyShape({ body, id }: Operation): Readonly<Record<string, z.ZodType>> {
  if (body === null) return {};
  if (body.schema instanceof z.ZodObject) return body.schema.shape;
  throw new Error(`the body of ${id} is no object`);
}

const pageMax = 200;

async function readPages(
  read: (page: Record<string, string>) => Promise<object>,
  limit: number,
): Promise<{ readonly data: readonly unknown[]; readonly next_cursor: null }> {
  const data: unknown[] = [];
  let cursor: string | null = null;
  for (;;) {
    const most = String(Math.min(pageMax, limit - data.length));
    const page = (await read({ limit: most, ...(cursor !== null && { cursor }) })) as {
      data: readonly unknown[];
      next_cursor: string | null;
    };
    for (const row of page.data) data.push(row);
    cursor = page.next_cursor;
    if (cursor === null || data.length >= limit) return { ...page, data, next_cursor: null };
  }
}

function defined(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

const refuseSecrets = (): never => {
  throw new Error('this command neither seals nor opens a secret');
};
const sealOfNothing: Seal = {
  seal: refuseSecrets,
  open: refuseSecrets,
  checkKey: refuseSecrets,
  keyId: '',
  prefix: '',
};

/** Things that a command names by their id alone, whatever app has them. */
const named = {
  key: { prefix: 'key', find: findKey, list: 'key list APP' },
  webhook: { prefix: 'whk', find: findWebhook, list: 'webhook list APP' },
  token: { prefix: 'tok', find: async () => ({ appId: null }), list: 'token list' },
} as const;

/**
 * Finds the app of a command and the organisation in whose name it acts. The command's own word is
 * not repeated where it is no id: it may be a key itself, which is a secret.
 */
async function findPlace(
  sql: Sql,
  params: Readonly<Record<string, string>>,
): Promise<{ readonly app?: App; readonly organisationId: Uuid }> {
  const { app } = params;
  if (app !== undefined) return { app: await getApp(sql, app), organisationId: firstOrganisationId };
  for (const [name, { prefix, find, list }] of Object.entries(named)) {
    const text = params[name];
    if (text === undefined) continue;
    const id = decodeId(prefix, text);
    const hint = `see them with: ${programName} ${list}`;
    if (id === undefined) throw new CommandError(`A ${name} is named by its id, ${prefix}_…; ${hint}`);
    const found = await find(sql, id);
    if (!found) throw new CommandError(`There is no ${name} ${printable(text)}; ${hint}`);
    const owner = found.appId === null ? undefined : await findApp(sql, found.appId);
    return { organisationId: owner?.organisationId ?? firstOrganisationId };
  }
  return { organisationId: firstOrganisationId };
}

export function operationNamed(routes: readonly Operation[], name: string): Operation {
  const found = routes.find(({ id }) => id === name);
  if (!found) throw new Error(`there is no operation ${name}`);
  return found;
}
