// The source of an app's live feed: the figures of its messages, the states of its channels and
// webhooks, and whether sends wait. Objects have the same form as on their own pages.

import type { Sql } from '@carillon/postgres';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import { presentListed } from '../../sending/messages/present-message.ts';
import { listMovingMessages } from '../../sending/messages/stored-queries.ts';
import { listWebhookStates, type StoredWebhook } from '../../sending/webhooks/queries.ts';
import { type CredentialRecord, listCredentials } from '../../teams/apps/credential-queries.ts';
import type { Source } from './feeds.ts';

export interface LiveDeps {
  readonly sql: Sql;
  readonly isPaused: () => boolean;
  readonly presentChannel: (credential: CredentialRecord) => object;
  readonly presentWebhook: (webhook: StoredWebhook) => object;
}

/** An object of the last look, and its text, which shows changes. */
interface Seen {
  readonly kind: 'message' | 'channel' | 'webhook';
  readonly shown: object;
  readonly text: string;
}

export function beginLive({ sql, isPaused, presentChannel, presentWebhook }: LiveDeps, appId: Uuid): Source {
  let seen: ReadonlyMap<string, Seen> | undefined;
  let sending: readonly Uuid[] = [];
  let paused = false;

  return {
    async look() {
      const messages = await listMovingMessages(sql, appId, sending);
      const channels = await listCredentials(sql, appId);
      const webhooks = await listWebhookStates(sql, appId);
      const wasPaused = paused;
      const former = seen;
      const now = new Map<string, Seen>();
      const note = (kind: Seen['kind'], id: string, shown: object): void =>
        void now.set(id, { kind, shown, text: JSON.stringify(shown) });
      for (const row of messages) note('message', row.id, presentListed(row));
      for (const row of channels) note('channel', String(row.id), presentChannel(row));
      for (const row of webhooks) note('webhook', row.id, presentWebhook(row));
      seen = now;
      sending = messages.flatMap(({ id, status }) => (status === 'sending' ? [id] : []));
      paused = isPaused();
      if (!former) return [];
      const changed = [...now].filter(([id, { text }]) => former.get(id)?.text !== text);
      const removed = [...former].filter(([id, { kind }]) => kind === 'webhook' && !now.has(id));
      return [
        ...changed.map(([, { kind, shown }]) => ({ type: kind, [kind]: shown })),
        ...removed.map(([id]) => ({ type: 'webhook_removed', id: encodeId('whk', id) })),
        ...(paused === wasPaused ? [] : [{ type: 'pause', paused }]),
      ];
    },
    state() {
      const all = [...(seen?.values() ?? [])];
      const of = (wanted: Seen['kind']) => all.flatMap(({ kind, shown }) => (kind === wanted ? [shown] : []));
      return { type: 'state', messages: of('message'), channels: of('channel'), webhooks: of('webhook'), paused };
    },
  };
}
