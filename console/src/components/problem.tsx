// A failure, in the service's own words, and a way on.
import { Alert, Button, Group } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { Link, useLocation } from 'react-router';
import { Problem } from '../api/client.ts';

const headings: Readonly<Record<string, string>> = {
  unreachable: 'Carillon does not answer',
  not_found: 'Not found',
  role_too_low: 'Your role does not allow this',
  rate_limited: 'Too many requests',
  unavailable: 'The service is busy',
  internal_error: 'A fault in the service',
};

/** The failure in one sentence, for a short notice. */
export function tellFailure(error: unknown): string {
  return error instanceof Problem ? error.message : 'The console met something that it did not expect.';
}

export function ProblemPanel({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const problem = error instanceof Problem ? error : undefined;
  // Only failures that may pass offer another try and a link to the log, because a refusal would be
  // repeated.
  const mayPass = !problem || problem.status === 0 || problem.status === 429 || problem.status >= 500;
  return (
    <Alert
      color="red"
      variant="light"
      icon={<IconAlertTriangle aria-hidden />}
      title={headings[problem?.code ?? ''] ?? 'This did not work'}
      role="alert"
    >
      <p style={{ margin: 0 }}>
        {problem?.message ?? 'The console met something that it did not expect. Load the page again.'}
      </p>
      {problem?.code === 'not_found' && onRetry && <WayUp />}
      {mayPass && problem?.requestId && (
        <p style={{ margin: '4px 0 0' }} className="muted">
          Request <span className="mono">{problem.requestId}</span>. The service's log has the details under this id.
        </p>
      )}
      {mayPass && onRetry && (
        <Group mt="sm">
          <Button variant="default" onClick={onRetry}>
            Try again
          </Button>
        </Group>
      )}
    </Alert>
  );
}

/** The way from a missing object to its list. */
function WayUp() {
  const { pathname } = useLocation();
  const list = pathname.replace(/(?:\/deliveries)?\/[^/]+$/, '');
  if (list === '' || list === pathname) return null;
  return (
    <p style={{ margin: '4px 0 0' }}>
      <Link to={list}>Back to the list</Link>
    </p>
  );
}
