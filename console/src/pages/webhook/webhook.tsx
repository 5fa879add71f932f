// One webhook: whether it works, what its endpoint answered, and how to verify what it sends.

import { Link, useParams } from 'react-router';
import type { Webhook } from '../../api/objects.ts';
import { useAnswer } from '../../api/queries.ts';
import { useAppId, useMay } from '../../api/session.ts';
import { Attempts } from '../../components/attempts.tsx';
import { FailureDots } from '../../components/failure-dots.tsx';
import { useIsLive } from '../../components/live-feed.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Status } from '../../components/status.tsx';
import { count } from '../../format.ts';
import { paths } from '../../paths.ts';
import { Card, Facts } from '../../ui/card.tsx';
import { CopyableId } from '../../ui/copy.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { Actions } from './actions.tsx';
import { ReplayCard } from './replay-card.tsx';
import { RotationCard } from './rotation-card.tsx';
import { TestCard } from './test-card.tsx';
import { VerifyCard } from './verify-card.tsx';

export function WebhookPage() {
  const app = useAppId();
  const { webhook = '' } = useParams();
  const isLive = useIsLive();
  const query = useAnswer('getWebhook', { webhook }, { refetchInterval: isLive ? false : 5000 });
  return <Loaded query={query}>{(data) => <Whole app={app} webhook={data} />}</Loaded>;
}

function Whole({ app, webhook }: { app: string; webhook: Webhook }) {
  const canEdit = useMay('webhook.edit');
  const attempts = useAnswer('listWebhookAttempts', { webhook: webhook.id }).data;
  const isNew = attempts?.data.length === 0;
  return (
    <>
      <div className="crumbs">
        <Link to={paths.webhooks(app)}>Webhooks</Link>
      </div>
      <Card
        title={webhook.endpoint}
        actions={
          canEdit.may ? <Actions app={app} webhook={webhook} /> : <span className="muted">{canEdit.reason}</span>
        }
      >
        <p className="headline" style={{ marginBottom: 16 }}>
          <Status status={webhook.state} />{' '}
          {isNew && webhook.state === 'enabled' ? 'Nothing has been sent to it yet.' : tellState(webhook)}
        </p>
        <Facts
          facts={[
            ['Id', <CopyableId key="id" id={webhook.id} />],
            ['Events', webhook.events.length === 0 ? 'All events' : webhook.events.join(', ')],
            ['Failures', <FailureDots key="dots" failures={webhook.consecutive_failures} />],
            ['Waiting events', String(webhook.held_events)],
            ['Made', <RelativeTime key="made" at={webhook.created_at} />],
          ]}
        />
      </Card>
      {canEdit.may && (
        <div className="grid-2">
          <TestCard app={app} webhook={webhook} />
          <RotationCard app={app} webhook={webhook} />
        </div>
      )}
      <Attempts app={app} webhook={webhook.id} />
      {canEdit.may && <ReplayCard webhook={webhook} />}
      <VerifyCard />
    </>
  );
}

function tellState({ state, consecutive_failures: failures, held_events: held }: Webhook): string {
  if (state === 'disabled') {
    const why = failures >= 15 ? '15 attempts in a row failed' : 'somebody disabled it';
    return `No request is made, because ${why}. ${count(held, 'event')} wait; each waits at most 72 hours.`;
  }
  if (failures > 0) return `The last ${count(failures, 'attempt')} failed. Retries go on; at 15 it is disabled.`;
  return 'No failure since the last answer of your server.';
}
