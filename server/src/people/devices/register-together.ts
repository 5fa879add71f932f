// Registrations of an app that arrive while others of the app are being stored share the next
// transaction: one commit and a few round trips for all. Only plain registrations, as apps send at
// each start, are joined; a refresh, or one with properties, has its own transaction. A refused
// registration never affects another. Locks are taken in the order of `register-device`.

import {
  isDatabaseDown,
  isStatementTimeout,
  repeatOnDeadlock,
  type Sql,
  type Tx,
  transaction,
} from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { ApiError } from '../../ground/http/api-error.ts';
import { createTogether, type Outcomes } from '../../ground/pacing/together.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { findCurrentCredentialId } from '../../teams/apps/credential-queries.ts';
import { type AudienceRow, getAudienceRow, listAudienceRows } from '../audience/queries.ts';
import { nothingLearned } from '../properties/learn-properties.ts';
import { claimTokens } from './claim-tokens.ts';
import type { Device } from './device.ts';
import { deleteToken, lockDevice, updateTokenDevice } from './queries.ts';
import {
  type RegisterContext,
  type RegisterDevice,
  type RegisteredDevice,
  registerAgain,
  registerDevice,
  registerNew,
  showsOtherKeys,
} from './register-device.ts';

export interface RegisterDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  /** Milliseconds that a request waits for its turn; after that it is refused. */
  readonly waitMs: number;
}

/** Registers a device like `registerDevice` and throws the same refusals. */
export type Register = (request: RegisterDevice) => Promise<RegisteredDevice>;

/**
 * Transactions of one app at once in a process. One connection of the pool of short transactions
 * remains for other apps.
 */
const turns = { turnsMax: 2, itemsMax: 25 };

export function createRegister({ sql, clock, waitMs }: RegisterDeps): Register {
  const alone: Register = (request) => registerDevice({ sql, clock }, request);
  const line = createTogether<RegisterDevice, RegisteredDevice>(
    (appId, requests) => registerAll({ sql, clock }, appId, requests, alone),
    { ...turns, waitMs },
  );
  return (request) => {
    const isPlain = request.refreshes === null && request.properties === undefined;
    return isPlain ? line.run(request.appId, request) : alone(request);
  };
}

async function registerAll(
  { sql, clock }: { sql: Sql; clock: Clock },
  appId: Uuid,
  requests: readonly RegisterDevice[],
  alone: Register,
): Promise<Outcomes<RegisteredDevice>> {
  if (requests.length === 1) return Promise.allSettled(requests.map(alone));
  const first = firstOfEachToken(requests);
  const outcomes = new Map<RegisterDevice, PromiseSettledResult<RegisteredDevice>>();
  try {
    const registered = await repeatOnDeadlock(() => transaction(sql, (tx) => registerIn(tx, clock, appId, first)));
    for (const [i, outcome] of registered.entries()) {
      const request = first[i];
      if (request && outcome) outcomes.set(request, outcome);
    }
  } catch (reason) {
    const isOfAll = isDatabaseDown(reason) || isStatementTimeout(reason);
    // If not all failed together, each request is stored alone below, which shows the one that
    // failed.
    if (isOfAll) for (const request of first) outcomes.set(request, { status: 'rejected', reason });
  } finally {
    for (const request of first) if (!isMade(outcomes.get(request))) request.permit?.giveBack();
  }
  // The remaining requests of a token now find its device. A device that becomes active again may
  // have to leave its user.
  const left = requests.filter((request) => !outcomes.has(request));
  const settled = await Promise.allSettled(left.map(alone));
  return requests.map((request) => outcomes.get(request) ?? settled[left.indexOf(request)] ?? leftOut);
}

const leftOut: PromiseRejectedResult = { status: 'rejected', reason: new Error('a registration has no outcome') };

function isMade(outcome: PromiseSettledResult<RegisteredDevice> | undefined): boolean {
  return outcome?.status === 'fulfilled' && outcome.value.created;
}

function firstOfEachToken(requests: readonly RegisterDevice[]): RegisterDevice[] {
  const byToken = new Map<string, RegisterDevice>();
  for (const request of requests) {
    const key = `${request.platform} ${request.token.hash.toString('latin1')}`;
    if (!byToken.has(key)) byToken.set(key, request);
  }
  return [...byToken.values()];
}

/**
 * Returns one outcome for each request: a device, or the request's own 429. The outcome is
 * undefined for an inactive device and for one whose keys the request does not know: each gets a
 * transaction of its own. Any other error undoes all
 * registrations and is thrown.
 */
async function registerIn(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  requests: readonly RegisterDevice[],
): Promise<readonly (PromiseSettledResult<RegisteredDevice> | undefined)[]> {
  const claims = requests.map(({ platform, token }) => ({ id: mintUuid(clock.nowMs()), platform, token }));
  const holders = await claimTokens(tx, appId, claims);
  const known = await lockKnown(
    tx,
    appId,
    [...holders].flatMap(([ownId, id]) => (id === ownId ? [] : [id])),
  );
  const credentials = new Map<string, Promise<number | null>>();
  const context: RegisterContext = {
    tx,
    clock,
    credentialOf(channel) {
      const credential = credentials.get(channel) ?? findCurrentCredentialId(tx, appId, channel);
      credentials.set(channel, credential);
      return credential;
    },
    async rowOf(id) {
      return known.get(id)?.row ?? getAudienceRow(tx, appId, id);
    },
  };
  const registerOne = async (request: RegisterDevice, ownId: Uuid): Promise<RegisteredDevice | undefined> => {
    const { platform, token } = request;
    const holderId = holders.get(ownId) ?? ownId;
    const device = known.get(holderId)?.device;
    if (device?.tokenHash.equals(token.hash)) {
      if (device.status !== 'active' || showsOtherKeys(request, device.token)) return undefined;
      return { ...(await registerAgain(context, request, device, nothingLearned)), lacksProof: false };
    }
    // A row left over from a refresh: its device has another token by now.
    if (holderId !== ownId) await updateTokenDevice(tx, appId, platform, token.hash, ownId);
    try {
      return { ...(await registerNew(context, request, ownId, nothingLearned)), lacksProof: false };
    } catch (error) {
      if (error instanceof ApiError) await deleteToken(tx, appId, platform, token.hash);
      throw error;
    }
  };
  // All statements run to the end, because none may use the connection after the transaction is
  // undone.
  const outcomes = await Promise.allSettled(requests.map((request, i) => registerOne(request, claims[i]?.id ?? '')));
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected' && !(outcome.reason instanceof ApiError)) throw outcome.reason;
  }
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') return outcome;
    return outcome.value && { status: outcome.status, value: outcome.value };
  });
}

interface Known {
  readonly device: Device;
  readonly row: AudienceRow | undefined;
}

/**
 * Locks devices in the order of their ids, as every transaction does that locks several. The
 * statements are sent together, so that none waits for an answer. The audience rows are read by a
 * later statement, so that they include the writes of the previous lock holder.
 */
async function lockKnown(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<Map<Uuid, Known>> {
  if (ids.length === 0) return new Map();
  const inOrder = [...new Set(ids)].sort();
  const locking = Promise.all(inOrder.map((id) => lockDevice(tx, appId, id)));
  const [devices, rows] = await Promise.all([locking, listAudienceRows(tx, appId, inOrder)]);
  const rowOf = new Map(rows.map((row) => [row.deviceId, row]));
  return new Map(
    devices.flatMap((device) => (device ? [[device.id, { device, row: rowOf.get(device.id) }] as const] : [])),
  );
}
