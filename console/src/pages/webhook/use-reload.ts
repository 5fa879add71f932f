// Reads a webhook and the lists of webhooks again after a change.

import type { Webhook } from '../../api/objects.ts';
import { queryClient, queryOf, refresh } from '../../api/queries.ts';

export function useReload(app: string, webhook: Webhook) {
  return async (after?: Webhook) => {
    if (after) queryClient.setQueryData(queryOf('getWebhook', { webhook: webhook.id }).queryKey, after);
    await refresh(['getWebhook', 'listWebhookAttempts'], { webhook: webhook.id });
    await refresh('listWebhooks', { app });
  };
}
