// The endpoints that are told of outcomes and clicks.
import { Link } from 'react-router';
import { call } from '../api/client.ts';
import { refresh, usePages } from '../api/queries.ts';
import { useAppId } from '../api/session.ts';
import { FailureDots } from '../components/failure-dots.tsx';
import { useFilters } from '../components/list.tsx';
import { May } from '../components/not-allowed.tsx';
import { RowPages } from '../components/row-pages.tsx';
import { showOnce } from '../components/secret-once.tsx';
import { Status } from '../components/status.tsx';
import { count } from '../format.ts';
import { WebhookForm } from '../forms/webhook.tsx';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { NewDialog } from '../ui/dialog.tsx';
import { Empty } from '../ui/empty.tsx';

export function Webhooks() {
  const app = useAppId();
  const { filters, from } = useFilters(['q']);
  const webhooks = usePages('listWebhooks', { app, q: filters.q }, from);
  const add = (
    <May act="webhook.edit" size={13}>
      <NewDialog label="New webhook" title="New webhook">
        {(close) => (
          <WebhookForm
            app={app}
            label="Add the webhook"
            save={(values) => call('createWebhook', { app, body: values })}
            onSaved={async ({ secret }) => {
              close();
              void showOnce({
                title: 'The signing secret',
                text: 'Your server verifies each request with this secret. It is shown only once; a rotation makes another one.',
                secrets: [['Secret', secret]],
              });
              await refresh('listWebhooks', { app });
            }}
            onCancel={close}
          />
        )}
      </NewDialog>
    </May>
  );
  return (
    <Card title="Webhooks" actions={add} isFlush>
      <RowPages
        label="Webhooks"
        query={webhooks}
        rowsOf={({ data }) => data}
        keyOf={({ id }) => id}
        rowOf={(webhook) => (
          <li className="row">
            <div className="row-main">
              <Link to={paths.webhook(app, webhook.id)} style={{ fontWeight: 500 }}>
                {webhook.endpoint}
              </Link>{' '}
              <Status status={webhook.state} />
              <div className="muted">
                {webhook.events.length === 0 ? 'All events' : webhook.events.join(', ')}
                {webhook.held_events > 0 && ` · ${count(webhook.held_events, 'event')} wait`}
              </div>
            </div>
            <FailureDots failures={webhook.consecutive_failures} />
          </li>
        )}
        finds="Id, or the beginning of an endpoint"
        empty={
          <Empty title="No webhooks yet">
            A webhook tells your server of each outcome and click, and tries again until the server accepts it.
          </Empty>
        }
      />
    </Card>
  );
}
