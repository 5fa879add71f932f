// A bar on every page while sends are paused, as after a restore, until somebody resumes them.
import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { call } from '../api/client.ts';
import { refresh, useAnswer } from '../api/queries.ts';
import { useMay } from '../api/session.ts';
import { count } from '../format.ts';
import { RelativeTime } from '../ui/relative-time.tsx';
import { ConfirmButton } from './confirm.tsx';

const reasons = {
  operator: 'somebody paused it',
  start: 'the service was started with START_PAUSED',
  restore: 'the data was restored from a backup',
  other_server: 'the data was copied to another server',
} as const;

export const useIsPaused = (): boolean => useAnswer('getPause', {}).data?.paused === true;

export function PausedBar() {
  const { may, reason } = useMay('system.resume');
  const pause = useAnswer('getPause', {}).data;
  const resume = useMutation({
    mutationFn: () => call('resume', {}),
    onSuccess: () => refresh('getPause'),
  });
  if (!pause?.paused) return null;
  return (
    <div className="notice" role="status">
      <strong>Sending is paused</strong>
      <span style={{ flex: '1 1 320px' }}>
        It stopped <RelativeTime at={pause.since} />, because {reasons[pause.reason ?? 'operator']}. Pushes and webhooks
        wait; the API goes on accepting.
        {pause.waiting && <> {tellWaiting(pause.waiting)}</>}
      </span>
      {may ? (
        <ConfirmButton
          label="Resume sending"
          title="Resume sending?"
          effect={`${pause.waiting ? tellWaiting(pause.waiting) : ''} Webhook events that wait go out, too. Make sure that no other service sends from the same data.`}
          run={() => resume.mutateAsync()}
        />
      ) : (
        <Button variant="default" disabled title={reason ?? undefined}>
          Resume sending
        </Button>
      )}
    </div>
  );
}

/** The number of messages that would be sent on resume, and of those that are too late. */
function tellWaiting({ messages, expired }: { messages: number; expired: number }): string {
  const late = expired === 0 ? '' : ` ${count(expired, 'message')} waited too long and would expire.`;
  const due = messages === 0 ? 'No message' : count(messages, 'message');
  return `${due} would go out now.${late}`;
}
