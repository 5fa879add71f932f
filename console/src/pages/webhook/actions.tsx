// Enables, edits, disables and deletes a webhook.
import { useNavigate } from 'react-router';
import { webhookCan } from '../../api/can.ts';
import { call } from '../../api/client.ts';
import type { Webhook } from '../../api/objects.ts';
import { refresh } from '../../api/queries.ts';
import { ConfirmButton } from '../../components/confirm.tsx';
import { count } from '../../format.ts';
import { WebhookForm } from '../../forms/webhook.tsx';
import { paths } from '../../paths.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { useReload } from './use-reload.ts';

export function Actions({ app, webhook }: { app: string; webhook: Webhook }) {
  const navigate = useNavigate();
  const reload = useReload(app, webhook);
  const remove = async () => {
    await call('deleteWebhook', { webhook: webhook.id });
    await refresh('listWebhooks', { app });
    await navigate(paths.webhooks(app));
  };
  return (
    <div className="row-actions">
      {webhookCan(webhook.state, 'enable') && (
        <ConfirmButton
          label="Enable"
          title="Enable this webhook?"
          effect={`One event is sent first, as a probe. When your server answers 2xx, the other ${count(webhook.held_events, 'waiting event')} follow.`}
          run={async () => reload(await call('enableWebhook', { webhook: webhook.id }))}
        />
      )}
      <Dialog label="Edit" title="Edit the webhook">
        {(close) => (
          <WebhookForm
            webhook={webhook}
            app={app}
            label="Save"
            save={(values, seen) => call('editWebhook', { webhook: webhook.id, body: { updated_at: seen, ...values } })}
            onSaved={async (after) => {
              close();
              await reload(after);
            }}
            onCancel={close}
          />
        )}
      </Dialog>
      {webhookCan(webhook.state, 'disable') && (
        <ConfirmButton
          label="Disable"
          title="Disable this webhook?"
          effect="No request is made until it is enabled again. Events wait for 72 hours at most, then they are dropped."
          isDestructive
          run={async () => reload(await call('disableWebhook', { webhook: webhook.id }))}
        />
      )}
      <ConfirmButton
        label="Delete"
        title="Delete this webhook?"
        effect={`Its ${count(webhook.held_events, 'waiting event')} and its log go with it. Nothing tells your server of outcomes any more.`}
        isDestructive
        run={remove}
      />
    </div>
  );
}
