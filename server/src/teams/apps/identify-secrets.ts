// The secrets with which an app's own server proves a device's user. They are sealed in the app's
// row, at most two during a rotation. Each is shown once, by the operation that creates it. No
// opened secret is logged.
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { invalid } from '../../ground/http/api-error.ts';
import { type Resealed, resealed, resealRows } from '../../ground/secrets/reseal.ts';
import type { Seal, SealPlace } from '../../ground/secrets/seal.ts';
import { encodeId, nilUuid, type Uuid } from '../../ground/values/ids.ts';
import type { AuditAction, AuditFields } from '../audit/entry.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import {
  getIdentifyRecord,
  lockIdentifyRecord,
  type SeenIdentifyRecord,
  updateIdentifyRecord,
} from './identify-queries.ts';
import { formOfSecret, type IdentifyRecord, isUnprovable, type SecretForm, secretOf } from './identify-record.ts';
import { listSealedIdentify, replaceIdentifySecrets, type SealedIdentify } from './seal-queries.ts';

const resealedAtOnce = 100;

/** A secret that was opened to check proofs of its form. */
export interface IdentifySecret {
  readonly form: SecretForm;
  readonly secret: string;
}

/** The proof that an app demands for an identify. */
export interface IdentifyRules {
  /** Each of these secrets proves a claim. Without any, no proof is demanded. */
  readonly secrets: readonly IdentifySecret[];
  /** True when only a token that names the device is accepted. */
  readonly isDeviceRequired: boolean;
}

/**
 * Loads the rules. Throws when the master key does not match, because nobody may identify without a
 * check. The form is read from the opened secret, which nobody can change.
 */
export async function loadIdentifyRules({ sql, seal }: { sql: Sql; seal: Seal }, appId: Uuid): Promise<IdentifyRules> {
  const { secret, nextSecret, isDeviceRequired } = await getIdentifyRecord(sql, appId);
  const secrets = [secret, nextSecret]
    .filter((record) => record !== null)
    .map((record) => {
      const opened = seal.open(record, placeOf(appId)).toString('utf8');
      const form = formOfSecret(opened);
      if (!form) throw new Error('an identify secret has no known form');
      return { form, secret: opened };
    });
  return { secrets, isDeviceRequired };
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

export interface SecretWish {
  readonly form: SecretForm;
  /** Absent: unchanged. */
  readonly isDeviceRequired?: boolean | undefined;
}

/**
 * Creates a secret that is valid at once, alone or beside the former one. Throws the 400 if an app
 * that requires the device would have no token secret.
 */
export async function rotateIdentifySecret(
  deps: IdentifyDeps & { readonly seal: Seal },
  appId: Uuid,
  { form, isDeviceRequired }: SecretWish = { form: 'token' },
): Promise<MadeIdentifySecret> {
  return transaction(deps.sql, async (tx) => {
    const inTx = { ...deps, tx };
    const locked = await lockIdentifyRecord(tx, appId);
    // The order of the two steps is chosen so that no state in between is refused.
    const former = isDeviceRequired === false ? await requireLocked(inTx, appId, locked, false) : locked;
    const { record, ...made } = await addSecret(inTx, appId, former, form);
    if (isDeviceRequired) await requireLocked(inTx, appId, record, true);
    return made;
  });
}

interface ChangeDeps extends Audited {
  readonly tx: Tx;
  readonly clock: Clock;
}

/** Adds a secret to a locked record, and returns the record as it is now. */
async function addSecret(
  deps: ChangeDeps & { readonly seal: Seal },
  appId: Uuid,
  former: IdentifyRecord,
  form: SecretForm,
): Promise<MadeIdentifySecret & { readonly record: IdentifyRecord }> {
  const secret = secretOf(form, randomBytes(32).toString('base64url'));
  const sealed = deps.seal.seal(secret, placeOf(appId));
  const isRotation = former.secret !== null;
  const record = {
    ...former,
    ...(isRotation ? { nextSecret: sealed, nextForm: form } : { secret: sealed, form }),
  };
  await changeLocked(deps, appId, 'identify_secret.rotate', former, record, { is_pending: isRotation, form });
  return { record, secret, isRotation, hasReplacedNext: former.nextSecret !== null };
}

async function requireLocked(
  deps: ChangeDeps,
  appId: Uuid,
  former: IdentifyRecord,
  isDeviceRequired: boolean,
): Promise<IdentifyRecord> {
  const record = { ...former, isDeviceRequired };
  const after = { is_required: isDeviceRequired };
  await changeLocked(deps, appId, 'identify_secret.require_device', former, record, after);
  return record;
}

/** The settings as a person wants them. */
export interface IdentifyWish {
  readonly isEnabled: boolean;
  readonly isDeviceRequired: boolean;
  /** Throws when the settings have changed since the person saw them. */
  check(former: SeenIdentifyRecord): void;
}

/**
 * Applies the settings in one transaction. Returns the first secret, in the form `token`, if one
 * was made. Without `isEnabled` the secrets are deleted. Throws the 400 if the device would be
 * required without a token secret.
 */
export async function setIdentify(
  deps: IdentifyDeps & { readonly seal: Seal },
  appId: Uuid,
  { isEnabled, isDeviceRequired, check }: IdentifyWish,
): Promise<string | null> {
  return transaction(deps.sql, async (tx) => {
    const former = await lockIdentifyRecord(tx, appId);
    check(former);
    const inTx = { ...deps, tx };
    if (!isEnabled) {
      if (former.secret !== null) await changeLocked(inTx, appId, 'identify_secret.clear', former, without);
      return null;
    }
    const made = former.secret === null ? await addSecret(inTx, appId, former, 'token') : undefined;
    await requireLocked(inTx, appId, made?.record ?? former, isDeviceRequired);
    return made?.secret ?? null;
  });
}

const without: IdentifyRecord = {
  secret: null,
  form: 'hash',
  nextSecret: null,
  nextForm: 'hash',
  isDeviceRequired: false,
};

/**
 * Finishes a rotation: only the next secret is valid, and the former one is deleted. Returns false
 * when there was no rotation. Throws the 400 if the last token secret would be deleted while the
 * device is required.
 */
export async function finishIdentifyRotation(deps: IdentifyDeps, appId: Uuid): Promise<boolean> {
  return change(deps, appId, 'identify_secret.finish', ({ nextSecret, nextForm, isDeviceRequired }) =>
    nextSecret === null ? undefined : { ...without, secret: nextSecret, form: nextForm, isDeviceRequired },
  );
}

/**
 * Deletes the secrets, after which no proof is demanded. Returns false when there was no secret.
 */
export async function clearIdentifySecrets(deps: IdentifyDeps, appId: Uuid): Promise<boolean> {
  return change(deps, appId, 'identify_secret.clear', ({ secret }) => (secret === null ? undefined : without));
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

/** False: there is nothing to change. */
async function change(
  deps: IdentifyDeps,
  appId: Uuid,
  action: AuditAction,
  changed: (former: IdentifyRecord) => IdentifyRecord | undefined,
): Promise<boolean> {
  return transaction(deps.sql, async (tx) => {
    const former = await lockIdentifyRecord(tx, appId);
    const record = changed(former);
    if (record) await changeLocked({ ...deps, tx }, appId, action, former, record);
    return record !== undefined;
  });
}

/** Changes a locked record. An equal record is no change. */
async function changeLocked(
  deps: ChangeDeps,
  appId: Uuid,
  action: AuditAction,
  former: IdentifyRecord,
  record: IdentifyRecord,
  after?: AuditFields,
): Promise<void> {
  if (isDeepStrictEqual(record, former)) return;
  // An app of an earlier version may already be without a possible proof. No change may bring
  // another app into this state.
  if (isUnprovable(record) && !isUnprovable(former)) {
    const message = 'require_device needs a token secret, because only a token can name its device.';
    throw invalid([{ path: ['require_device'], code: 'invalid_value', message }]);
  }
  await updateIdentifyRecord(deps.tx, deps.clock, appId, record);
  await recordAudit(deps, { ...aboutSecretOf(appId), action, ...(after && { after }) });
}

const aboutSecretOf = (appId: Uuid) => ({ appId, target: encodeId('app', appId) });

/**
 * Bound to the app and not to the column, because finishing a rotation moves the record unchanged.
 */
function placeOf(appId: Uuid): SealPlace {
  return { table: 'apps', column: 'identify_secret', rowId: appId, appId };
}
