// The first page of an app: what needs attention, the main figures, and the last messages.
import { IconAlertTriangle } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { Usage } from '../api/objects.ts';
import { useAnswer } from '../api/queries.ts';
import { useApp, useAppId, useMay } from '../api/session.ts';
import { HowToSend } from '../components/compose-link.tsx';
import { FirstSend } from '../components/first-code.tsx';
import { newestShown } from '../components/first-questions.ts';
import { type Concern, useConcerns } from '../components/health.tsx';
import { LastDays } from '../components/last-days.tsx';
import { useIsLive } from '../components/live-feed.tsx';
import { Loaded } from '../components/loaded.tsx';
import { nameOf, tellMessage } from '../components/message-text.ts';
import { useIsPaused } from '../components/paused-bar.tsx';
import { SetupGuide } from '../components/setup-guide.tsx';
import { Status } from '../components/status.tsx';
import { count, formatDay, formatShare } from '../format.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { Empty } from '../ui/empty.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import { SkeletonRows } from '../ui/virtual-rows.tsx';

export function Overview() {
  const app = useAppId();
  const { name } = useApp();
  const { concerns, isKnown } = useConcerns(app);
  const isPaused = useIsPaused();
  const canSeePlan = useMay('plan.edit').may;
  const usage = useAnswer('getUsage', { app }, { enabled: canSeePlan }).data;
  const isNew = useAnswer('listMessages', { app, limit: newestShown }).data?.data.length === 0;
  const all = [...concerns, ...concernsOfQuota(app, usage)];
  return (
    <>
      <PageHead title={name} answer={isKnown ? tellState(all.length, isNew, isPaused) : null} />
      <div className="stack">
        {all.length > 0 && <NeedsAttention concerns={all} />}
        <SetupGuide key={app} app={app} />
        <LastDays app={app} />
        <LastMessages app={app} />
      </div>
    </>
  );
}

function tellState(concerns: number, isNew: boolean, isPaused: boolean): string {
  if (concerns > 0) return `${count(concerns, 'thing')} to look at.`;
  if (isPaused) return 'Nothing is sent until sending is resumed.';
  if (isNew) return 'Nothing has been sent yet. The steps below lead to the first push.';
  return 'Nothing needs attention: channels and webhooks are healthy.';
}

function concernsOfQuota(app: string, usage: Usage | undefined): Concern[] {
  if (!usage || usage.limit === null || usage.used < usage.limit * 0.8) return [];
  const text = `${formatShare(usage.used, usage.limit)} of this month's deliveries are used. The quota starts again on ${formatDay(usage.resets_at)}.`;
  return [{ text, to: paths.usage(app), tone: usage.used >= usage.limit ? 'bad' : 'warn' }];
}

function NeedsAttention({ concerns }: { concerns: readonly Concern[] }) {
  return (
    <Card title="Needs attention">
      <ul style={{ listStyle: 'none', margin: 0, padding: 0, display: 'grid', gap: 8 }}>
        {concerns.map(({ text, to, tone }) => (
          <li key={text} style={{ display: 'flex', gap: 10, alignItems: 'start' }}>
            <IconAlertTriangle
              size={18}
              aria-hidden
              className={`tone-${tone}`}
              style={{ flex: 'none', marginTop: 1 }}
            />
            <span>
              {text} <Link to={to}>Open it</Link>
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function LastMessages({ app }: { app: string }) {
  const isLive = useIsLive();
  const newest = useAnswer('listMessages', { app, limit: newestShown }, { refetchInterval: isLive ? false : 5000 });
  return (
    <Card title="Last messages" actions={<Link to={paths.messages(app)}>All messages</Link>}>
      <Loaded query={newest} skeleton={<SkeletonRows rows={3} />}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="Nothing sent yet" action={<FirstSend />}>
              <HowToSend app={app} />
            </Empty>
          ) : (
            <ul style={{ listStyle: 'none', margin: 0, padding: 0, display: 'grid', gap: 12 }}>
              {data.map((message) => (
                <li key={message.id} className="last-message">
                  <Status status={message.status} />
                  <div style={{ minWidth: 0 }}>
                    <Link
                      to={paths.message(app, message.id)}
                      className="plain-link"
                      style={{ fontWeight: 500, color: 'inherit' }}
                    >
                      {nameOf(message)}
                    </Link>
                    <p className="muted" style={{ margin: 0 }}>
                      {tellMessage(message)}
                    </p>
                  </div>
                  <span className="muted">
                    <RelativeTime at={message.run_at ?? message.created_at} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}
