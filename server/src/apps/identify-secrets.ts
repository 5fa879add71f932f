// The secrets by which an app's own server proves whose a device is: sealed in the app's row, at most two during a rotation, each
// shown once, by the operation that makes it. Logs nothing it opens.
import { randomBytes } from 'node:crypto';
import { type Sql, transaction } from '../platform/db.ts';
import { encodeId, nilUuid, type Uuid } from '../platform/ids.ts';
import { type Resealed, resealed, resealRows } from '../platform/reseal.ts';
import type { Seal, SealPlace } from '../platform/seal.ts';
import {
  getIdentifyRecord,
  type IdentifyRecord,
  lockIdentifyRecord,
  updateIdentifyRecord,
} from './identify-queries.ts';
import { listSealedIdentify, replaceIdentifySecrets, type SealedIdentify } from './seal-queries.ts';

const resealedAtOnce = 100;

/** What an app demands of an identify. */
export interface IdentifyRules {
  /** Any of them proves; none: nothing is demanded. */
  readonly secrets: readonly string[];
  /** Only a proof for this device and this hour will do. */
  readonly isBoundRequired: boolean;
}

/** Throws where the master key does not fit: who cannot check lets nobody in. */
export async function loadIdentifyRules({ sql, seal }: { sql: Sql; seal: Seal }, appId: Uuid): Promise<IdentifyRules> {
  const { secret, nextSecret, isBoundRequired } = await getIdentifyRecord(sql, appId);
  const sealed = [secret, nextSecret].filter((record) => record !== null);
  return { secrets: sealed.map((record) => seal.open(record, placeOf(appId)).toString('utf8')), isBoundRequired };
}

export interface MadeIdentifySecret {
  /** Shown now and never again. */
  readonly secret: string;
  /** True: the former one is valid beside it until the rotation is finished. */
  readonly isRotation: boolean;
  /** True: it took the place of one whose rotation was not finished, and which proves nothing any more. */
  readonly hasReplacedNext: boolean;
}

/** A new secret, valid from now on: the only one, or the next one beside the former. */
export async function rotateIdentifySecret(
  { sql, seal }: { sql: Sql; seal: Seal },
  appId: Uuid,
): Promise<MadeIdentifySecret> {
  const secret = `idsec_${randomBytes(32).toString('base64url')}`;
  const sealed = seal.seal(secret, placeOf(appId));
  return transaction(sql, async (tx) => {
    const former = await lockIdentifyRecord(tx, appId);
    const isRotation = former.secret !== null;
    await updateIdentifyRecord(tx, appId, {
      ...former,
      ...(isRotation ? { nextSecret: sealed } : { secret: sealed }),
    });
    return { secret, isRotation, hasReplacedNext: former.nextSecret !== null };
  });
}

/** The next secret alone proves from now on, and the former one is erased. False: no rotation was under way. */
export async function finishIdentifyRotation(sql: Sql, appId: Uuid): Promise<boolean> {
  return change(sql, appId, (former) =>
    former.nextSecret === null ? undefined : { ...former, secret: former.nextSecret, nextSecret: null },
  );
}

/** Nothing is demanded any more, and the secrets are erased. False: there was none. */
export async function clearIdentifySecrets(sql: Sql, appId: Uuid): Promise<boolean> {
  return change(sql, appId, ({ secret }) =>
    secret === null ? undefined : { secret: null, nextSecret: null, isBoundRequired: false },
  );
}

/** Says whether the simple form of a proof will do. False: there is no secret that either form could be made with. */
export async function requireBoundIdentify(sql: Sql, appId: Uuid, isBoundRequired: boolean): Promise<boolean> {
  return change(sql, appId, (former) => (former.secret === null ? undefined : { ...former, isBoundRequired }));
}

/** Seals every identify secret with the current master key. */
export async function resealIdentifySecrets({ sql, seal }: { sql: Sql; seal: Seal }): Promise<Resealed> {
  return resealRows<SealedIdentify>({
    list: (after) => listSealedIdentify(sql, seal.prefix, after?.appId ?? nilUuid, resealedAtOnce),
    async replace(row) {
      const anew = (record: string | null): string | null =>
        record === null ? null : resealed(seal, record, placeOf(row.appId));
      return replaceIdentifySecrets(sql, row, { secret: anew(row.secret), nextSecret: anew(row.nextSecret) });
    },
    nameOf: ({ appId }) => `the identify secret of ${encodeId('app', appId)}`,
  });
}

async function change(
  sql: Sql,
  appId: Uuid,
  changed: (former: IdentifyRecord) => IdentifyRecord | undefined,
): Promise<boolean> {
  return transaction(sql, async (tx) => {
    const record = changed(await lockIdentifyRecord(tx, appId));
    if (record) await updateIdentifyRecord(tx, appId, record);
    return record !== undefined;
  });
}

/** Bound to the app, whether it is the former one or the next: finishing a rotation moves the record as it is. */
function placeOf(appId: Uuid): SealPlace {
  return { table: 'apps', column: 'identify_secret', rowId: appId, appId };
}
