// SQL: secrets of apps that are not sealed with the current master key, for a rotation of that key.
// `prefix`: the beginning of records that are.
import type { Sql } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';

export interface SealedCredential {
  readonly appId: Uuid;
  readonly id: number;
  readonly secret: string;
}

/** Lists the next such credentials after one, former credentials too. */
export async function listSealedCredentials(
  sql: Sql,
  prefix: string,
  after: Pick<SealedCredential, 'appId' | 'id'>,
  limit: number,
): Promise<SealedCredential[]> {
  return sql`
    SELECT app_id, id, secret FROM credentials
    WHERE (app_id, id) > (${after.appId}::uuid, ${after.id}::smallint) AND NOT starts_with(secret, ${prefix})
    ORDER BY app_id, id LIMIT ${limit}`;
}

/** Replaces a secret. Returns false when it changed after it was read. */
export async function replaceCredentialSecret(
  sql: Sql,
  { appId, id, secret }: SealedCredential,
  next: string,
): Promise<boolean> {
  const result = await sql`
    UPDATE credentials SET secret = ${next} WHERE app_id = ${appId} AND id = ${id} AND secret = ${secret}`;
  return result.count === 1;
}

export interface SealedIdentify {
  readonly appId: Uuid;
  readonly secret: string | null;
  readonly nextSecret: string | null;
}

/** Lists the next apps after one that have such an identify secret. */
export async function listSealedIdentify(
  sql: Sql,
  prefix: string,
  after: Uuid,
  limit: number,
): Promise<SealedIdentify[]> {
  return sql`
    SELECT id AS app_id, identify_secret AS secret, identify_secret_next AS next_secret FROM apps
    WHERE id > ${after} AND (NOT starts_with(identify_secret, ${prefix}) OR NOT starts_with(identify_secret_next, ${prefix}))
    ORDER BY id LIMIT ${limit}`;
}

/** Replaces secrets. Returns false when they changed after they were read. */
export async function replaceIdentifySecrets(
  sql: Sql,
  former: SealedIdentify,
  next: Pick<SealedIdentify, 'secret' | 'nextSecret'>,
): Promise<boolean> {
  const result = await sql`
    UPDATE apps SET identify_secret = ${next.secret}, identify_secret_next = ${next.nextSecret}
    WHERE id = ${former.appId} AND identify_secret IS NOT DISTINCT FROM ${former.secret}
      AND identify_secret_next IS NOT DISTINCT FROM ${former.nextSecret}`;
  return result.count === 1;
}
