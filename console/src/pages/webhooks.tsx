// The endpoints that are told of outcomes and clicks.
import { Button, Modal } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { call } from '../api/client.ts';
import type { MadeWebhook } from '../api/objects.ts';
import { pagesOf, refresh } from '../api/queries.ts';
import { useAppId, useMay } from '../api/session.ts';
import { FailureDots } from '../components/failure-dots.tsx';
import { useFilters } from '../components/list.tsx';
import { RowPages } from '../components/row-pages.tsx';
import { SecretOnce } from '../components/secret-once.tsx';
import { Status } from '../components/status.tsx';
import { count } from '../format.ts';
import { WebhookForm } from '../forms/webhook.tsx';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { Empty } from '../ui/empty.tsx';

export function Webhooks() {
  const app = useAppId();
  const { may, reason } = useMay('webhook.edit');
  const { filters, from } = useFilters(['q']);
  const webhooks = useInfiniteQuery(pagesOf('listWebhooks', { app, q: filters.q }, from));
  const [isOpen, { open, close }] = useDisclosure(false);
  const [made, setMade] = useState<MadeWebhook | null>(null);
  const add = may ? (
    <Button onClick={open} leftSection={<IconPlus size={16} aria-hidden />}>
      New webhook
    </Button>
  ) : (
    <span className="muted" style={{ fontSize: 13 }}>
      {reason}
    </span>
  );
  return (
    <>
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
      <Modal opened={isOpen} onClose={close} title="New webhook">
        <WebhookForm
          app={app}
          label="Add the webhook"
          save={(values) => call('createWebhook', { app, body: values })}
          onSaved={async (webhook) => {
            close();
            setMade(webhook);
            await refresh('listWebhooks', { app });
          }}
          onCancel={close}
        />
      </Modal>
      <SecretOnce
        title="The signing secret"
        text="Your server verifies each request with this secret. It is shown only once; a rotation makes another one."
        secrets={made && [['Secret', made.secret]]}
        onClose={() => setMade(null)}
      />
    </>
  );
}
