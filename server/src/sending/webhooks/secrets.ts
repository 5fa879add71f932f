// The signing secrets of a webhook. They are sealed in its row and opened to sign.
import type { Sql } from '@carillon/postgres';
import { type Resealed, resealed, resealRows } from '../../ground/secrets/reseal.ts';
import type { Seal, SealPlace } from '../../ground/secrets/seal.ts';
import { encodeId, nilUuid, type Uuid } from '../../ground/values/ids.ts';
import { listSealedWebhooks, replaceWebhookSecrets, type SealedWebhook } from './seal-queries.ts';
import type { StoredSecrets } from './signature.ts';

const resealedAtOnce = 100;

/**
 * A sealed record belongs to one webhook. The present and the pending secret have the same place.
 */
function placeOf({ appId, id }: { appId: Uuid; id: Uuid }): SealPlace {
  return { table: 'webhooks', column: 'secret', rowId: id, appId };
}

export function sealSecret(seal: Seal, webhook: { appId: Uuid; id: Uuid }, secret: string): string {
  return seal.seal(secret, placeOf(webhook));
}

/** Throws when the master key does not fit. */
export function openSecrets(
  seal: Seal,
  webhook: {
    readonly appId: Uuid;
    readonly id: Uuid;
    readonly secret: string;
    readonly pendingSecret: string | null;
    readonly finishAt: Date | null;
    readonly isDual: boolean;
  },
): StoredSecrets {
  const open = (record: string): string => seal.open(record, placeOf(webhook)).toString('utf8');
  return {
    secret: open(webhook.secret),
    pending: webhook.pendingSecret === null ? null : open(webhook.pendingSecret),
    finishAt: webhook.finishAt,
    isDual: webhook.isDual,
  };
}

/** Seals every signing secret, including pending ones, with the current master key. */
export async function resealWebhookSecrets({ sql, seal }: { sql: Sql; seal: Seal }): Promise<Resealed> {
  return resealRows<SealedWebhook>({
    list: (after) => listSealedWebhooks(sql, seal.prefix, after ?? { appId: nilUuid, id: nilUuid }, resealedAtOnce),
    async replace(row) {
      const renew = (record: string): string => resealed(seal, record, placeOf(row));
      const pendingSecret = row.pendingSecret === null ? null : renew(row.pendingSecret);
      return replaceWebhookSecrets(sql, row, { secret: renew(row.secret), pendingSecret });
    },
    nameOf: ({ id }) => `the secret of ${encodeId('whk', id)}`,
  });
}
