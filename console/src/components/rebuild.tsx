// The rebuild of stored totals of reports: the state of the last one, and the button for another.
import { useMutation } from '@tanstack/react-query';
import { call } from '../api/client.ts';
import type { ReportRebuild } from '../api/objects.ts';
import { queryClient, queryOf, useAnswer } from '../api/queries.ts';
import { useMay } from '../api/session.ts';
import { count } from '../format.ts';
import { Card } from '../ui/card.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import { ConfirmButton } from './confirm.tsx';

export function Rebuild({ app }: { app: string }) {
  const { may, reason } = useMay('report.rebuild');
  const last = useAnswer(
    'getReportRebuild',
    { app },
    { refetchInterval: ({ state: { data } }) => (data?.rebuild && isOpen(data.rebuild) ? 2000 : false) },
  ).data?.rebuild;
  const ask = useMutation({
    mutationFn: () => call('rebuildReports', { app, body: {} }),
    onSuccess: (rebuild) => queryClient.setQueryData(queryOf('getReportRebuild', { app }).queryKey, { rebuild }),
  });
  return (
    <div className="no-print">
      <Card
        title="Stored totals"
        actions={
          may && !(last && isOpen(last)) ? (
            <ConfirmButton
              label="Rebuild"
              title="Rebuild the reports?"
              effect="Totals are computed again from the events and deliveries that are kept, and purchases are credited again. Reports stay readable meanwhile; it may take minutes."
              run={() => ask.mutateAsync()}
            />
          ) : undefined
        }
      >
        <p className="muted" style={{ margin: 0 }} aria-live="polite">
          {last ? <Told rebuild={last} /> : 'Reports read stored totals, which are kept up to date. '}
          {!may && reason}
        </p>
      </Card>
    </div>
  );
}

const isOpen = ({ status }: ReportRebuild): boolean => status === 'waiting' || status === 'running';

function Told({ rebuild: { status, asked_at, finished_at, events, purchases } }: { rebuild: ReportRebuild }) {
  if (status === 'waiting') return <>A rebuild waits for a worker. </>;
  if (status === 'running') return <>The totals are being computed again. </>;
  if (status === 'failed') {
    return (
      <>
        The rebuild of <RelativeTime at={asked_at} /> failed. The service's log says why. Ask for it again.{' '}
      </>
    );
  }
  return (
    <>
      Rebuilt <RelativeTime at={finished_at} />: {count(events ?? 0, 'event')} counted,{' '}
      {count(purchases ?? 0, 'settled purchase')} credited again.{' '}
    </>
  );
}
