// The secrets with which an app's own server proves a device's user. They are sealed in the app's
// row, at most two during a rotation. Each is shown once, by the operation that creates it. No
// opened secret is logged.
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { AuditAction, AuditFields } from '../audit/entry.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import type { Clock } from '../database/clock.ts';
import { type Sql, type Tx, transaction } from '../database/db.ts';
import { encodeId, nilUuid, type Uuid } from '../ground/ids.ts';
import { type Resealed, resealed, resealRows } from '../ground/reseal.ts';
import type { Seal, SealPlace } from '../ground/seal.ts';
import {
  getIdentifyRecord,
  type IdentifyRecord,
  lockIdentifyRecord,
  type SeenIdentifyRecord,
  updateIdentifyRecord,
} from './identify-queries.ts';
import { listSealedIdentify, replaceIdentifySecrets, type SealedIdentify } from './seal-queries.ts';

const resealedAtOnce = 100;

/** The proof that an app demands for an identify. */
export interface IdentifyRules {
  /** Each of them proves a claim; when there is none, no proof is demanded. */
  readonly secrets: readonly string[];
  /** True when only a bound proof is accepted, which names the device and an instant. */
  readonly isBoundRequired: boolean;
}

/**
 * Loads the rules. Throws when the master key does not match, because without a check nobody may
 * identify.
 */
export async function loadIdentifyRules({ sql, seal }: { sql: Sql; seal: Seal }, appId: Uuid): Promise<IdentifyRules> {
  const { secret, nextSecret, isBoundRequired } = await getIdentifyRecord(sql, appId);
  const sealed = [secret, nextSecret].filter((record) => record !== null);
  return { secrets: sealed.map((record) => seal.open(record, placeOf(appId)).toString('utf8')), isBoundRequired };
}

export interface MadeIdentifySecret {
  /** Shown now and never again. */
  readonly secret: string;
  /** True when the former secret stays valid until the rotation is finished. */
  readonly isRotation: boolean;
  /**
   * True when the new secret replaced the next secret of an unfinished rotation, which proves
   * nothing any more.
   */
  readonly hasReplacedNext: boolean;
}

/** Creates a secret that is valid from now on: as the only one, or beside the former one. */
export async function rotateIdentifySecret(
  deps: IdentifyDeps & { readonly seal: Seal },
  appId: Uuid,
): Promise<MadeIdentifySecret> {
  return transaction(deps.sql, async (tx) => addSecret({ ...deps, tx }, appId, await lockIdentifyRecord(tx, appId)));
}

interface AddDeps extends Audited {
  readonly tx: Tx;
  readonly clock: Clock;
  readonly seal: Seal;
}

/** The caller has locked the record. */
async function addSecret(deps: AddDeps, appId: Uuid, former: IdentifyRecord): Promise<MadeIdentifySecret> {
  const { tx, clock, seal } = deps;
  const secret = `idsec_${randomBytes(32).toString('base64url')}`;
  const sealed = seal.seal(secret, placeOf(appId));
  const isRotation = former.secret !== null;
  await updateIdentifyRecord(tx, clock, appId, {
    ...former,
    ...(isRotation ? { nextSecret: sealed } : { secret: sealed }),
  });
  const after = { is_pending: isRotation };
  await recordAudit(deps, { ...aboutSecretOf(appId), action: 'identify_secret.rotate', after });
  return { secret, isRotation, hasReplacedNext: former.nextSecret !== null };
}

/** The settings as a person wants them. */
export interface IdentifyWish {
  readonly isEnabled: boolean;
  readonly isBoundRequired: boolean;
  /** Throws when the settings have changed since the person saw them. */
  check(former: SeenIdentifyRecord): void;
}

/**
 * Makes the settings as wished, in one transaction. Returns the first secret where one was made;
 * without `isEnabled` the secrets are deleted.
 */
export async function setIdentify(
  deps: IdentifyDeps & { readonly seal: Seal },
  appId: Uuid,
  { isEnabled, isBoundRequired, check }: IdentifyWish,
): Promise<string | null> {
  return transaction(deps.sql, async (tx) => {
    const former = await lockIdentifyRecord(tx, appId);
    check(former);
    const inTx = { ...deps, tx };
    if (!isEnabled) {
      await changeLocked(inTx, appId, 'identify_secret.clear', former, without);
      return null;
    }
    const made = former.secret === null ? await addSecret(inTx, appId, former) : undefined;
    const now = made ? await lockIdentifyRecord(tx, appId) : former;
    const bound = (record: IdentifyRecord): IdentifyRecord => ({ ...record, isBoundRequired });
    const action = 'identify_secret.require_bound';
    await changeLocked(inTx, appId, action, now, bound, { is_required: isBoundRequired });
    return made?.secret ?? null;
  });
}

const without = ({ secret }: IdentifyRecord): IdentifyRecord | undefined =>
  secret === null ? undefined : { secret: null, nextSecret: null, isBoundRequired: false };

/**
 * Finishes a rotation: only the next secret is valid, and the former one is deleted. Returns false
 * when there was no rotation.
 */
export async function finishIdentifyRotation(deps: IdentifyDeps, appId: Uuid): Promise<boolean> {
  return change(deps, appId, 'identify_secret.finish', (former) =>
    former.nextSecret === null ? undefined : { ...former, secret: former.nextSecret, nextSecret: null },
  );
}

/**
 * Deletes the secrets, after which no proof is demanded. Returns false when there was no secret.
 */
export async function clearIdentifySecrets(deps: IdentifyDeps, appId: Uuid): Promise<boolean> {
  return change(deps, appId, 'identify_secret.clear', without);
}

/** Sets whether only bound proofs are accepted. Returns false when the app has no secret. */
export async function requireBoundIdentify(
  deps: IdentifyDeps,
  appId: Uuid,
  isBoundRequired: boolean,
): Promise<boolean> {
  return change(
    deps,
    appId,
    'identify_secret.require_bound',
    (former) => (former.secret === null ? undefined : { ...former, isBoundRequired }),
    { is_required: isBoundRequired },
  );
}

/** Seals every identify secret with the current master key. */
export async function resealIdentifySecrets({ sql, seal }: { sql: Sql; seal: Seal }): Promise<Resealed> {
  return resealRows<SealedIdentify>({
    list: (after) => listSealedIdentify(sql, seal.prefix, after?.appId ?? nilUuid, resealedAtOnce),
    async replace(row) {
      const renew = (record: string | null): string | null =>
        record === null ? null : resealed(seal, record, placeOf(row.appId));
      return replaceIdentifySecrets(sql, row, { secret: renew(row.secret), nextSecret: renew(row.nextSecret) });
    },
    nameOf: ({ appId }) => `the identify secret of ${encodeId('app', appId)}`,
  });
}

interface IdentifyDeps extends Audited {
  readonly sql: Sql;
  readonly clock: Clock;
}

async function change(
  deps: IdentifyDeps,
  appId: Uuid,
  action: AuditAction,
  changed: (former: IdentifyRecord) => IdentifyRecord | undefined,
  after?: AuditFields,
): Promise<boolean> {
  return transaction(deps.sql, async (tx) =>
    changeLocked({ ...deps, tx }, appId, action, await lockIdentifyRecord(tx, appId), changed, after),
  );
}

/** Changes a locked record. False: there is nothing to change. */
async function changeLocked(
  deps: Audited & { readonly tx: Tx; readonly clock: Clock },
  appId: Uuid,
  action: AuditAction,
  former: IdentifyRecord,
  changed: (former: IdentifyRecord) => IdentifyRecord | undefined,
  after?: AuditFields,
): Promise<boolean> {
  const record = changed(former);
  if (!record) return false;
  if (isDeepStrictEqual(record, former)) return true;
  await updateIdentifyRecord(deps.tx, deps.clock, appId, record);
  await recordAudit(deps, { ...aboutSecretOf(appId), action, ...(after && { after }) });
  return true;
}

const aboutSecretOf = (appId: Uuid) => ({ appId, target: encodeId('app', appId) });

/**
 * Bound to the app and not to the column, because finishing a rotation moves the record unchanged.
 */
function placeOf(appId: Uuid): SealPlace {
  return { table: 'apps', column: 'identify_secret', rowId: appId, appId };
}
