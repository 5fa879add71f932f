// SQL of webhooks' secrets that are not sealed with the current master key, for a rotation of that
// key. `prefix` is the beginning of records that are.
import type { Sql } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';

export interface SealedWebhook {
  readonly appId: Uuid;
  readonly id: Uuid;
  readonly secret: string;
  readonly pendingSecret: string | null;
}

/** The next such webhooks after a given one. */
export async function listSealedWebhooks(
  sql: Sql,
  prefix: string,
  after: Pick<SealedWebhook, 'appId' | 'id'>,
  limit: number,
): Promise<SealedWebhook[]> {
  return sql`
    SELECT app_id, id, secret, pending_secret FROM webhooks
    WHERE (app_id, id) > (${after.appId}::uuid, ${after.id}::uuid)
      AND (NOT starts_with(secret, ${prefix}) OR NOT starts_with(pending_secret, ${prefix}))
    ORDER BY app_id, id LIMIT ${limit}`;
}

/** Stores newly sealed secrets. False: the stored ones have changed since they were read. */
export async function replaceWebhookSecrets(
  sql: Sql,
  former: SealedWebhook,
  next: Pick<SealedWebhook, 'secret' | 'pendingSecret'>,
): Promise<boolean> {
  const result = await sql`
    UPDATE webhooks SET secret = ${next.secret}, pending_secret = ${next.pendingSecret}
    WHERE app_id = ${former.appId} AND id = ${former.id} AND secret = ${former.secret}
      AND pending_secret IS NOT DISTINCT FROM ${former.pendingSecret}`;
  return result.count === 1;
}
