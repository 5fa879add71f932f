// One signed request on the spot, and what the endpoint answered.
import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import type { Webhook } from '../../api/objects.ts';
import { ProblemPanel } from '../../components/problem.tsx';
import { isGood, tellAnswer } from '../../components/webhook-text.ts';
import { Card } from '../../ui/card.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { State } from '../../ui/state.tsx';
import { useReload } from './use-reload.ts';

export function TestCard({ app, webhook }: { app: string; webhook: Webhook }) {
  const reload = useReload(app, webhook);
  const test = useMutation({
    mutationFn: () => call('testWebhook', { webhook: webhook.id }),
    onSuccess: () => reload(),
  });
  const last = test.data ?? webhook.last_test;
  return (
    <Card title="Test">
      <p className="muted" style={{ margin: '0 0 12px' }}>
        Sends one signed request of the kind <span className="mono">webhook.test</span> and shows the answer here. It is
        not in the log below.
      </p>
      {last && (
        <p style={{ margin: '0 0 12px' }} role="status">
          <State
            tone={isGood(last) ? 'good' : 'bad'}
            mark={isGood(last) ? 'done' : 'failed'}
            text={isGood(last) ? 'Worked' : 'Failed'}
          />{' '}
          {tellAnswer(last)}{' '}
          <span className="muted">
            <RelativeTime at={last.at} />
          </span>
        </p>
      )}
      {test.error && <ProblemPanel error={test.error} />}
      <Button
        variant="default"
        mt={test.error ? 'sm' : 0}
        loading={test.isPending}
        onClick={() => test.mutate()}
        disabled={webhook.state === 'disabled'}
      >
        Send a test
      </Button>
      {webhook.state === 'disabled' && (
        <p className="muted" style={{ margin: '8px 0 0' }}>
          A disabled webhook is not called. Enable it first.
        </p>
      )}
    </Card>
  );
}
