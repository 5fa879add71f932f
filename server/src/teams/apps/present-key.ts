// A key as the console and the command line show it.
import { encodeId } from '../../ground/values/ids.ts';
import type { KeyRecord } from './key-queries.ts';

/** Presents a key without its secret part. Instants are dates. */
export function presentKey(key: KeyRecord) {
  return {
    id: encodeId('key', key.id),
    app_id: encodeId('app', key.appId),
    scope: key.scope,
    name: key.name,
    start: key.start,
    last4: key.last4,
    created_at: key.createdAt,
    created_by: key.createdBy,
    last_used_at: key.lastUsedAt,
    expires_at: key.expiresAt,
    revoked_at: key.revokedAt,
  };
}
