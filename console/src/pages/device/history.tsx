// The states of a device, newest first, each with its reason.

import type { Device } from '../../api/objects.ts';
import { markOf, Status, toneOf } from '../../components/status.tsx';
import { codeTitle } from '../../failure-codes.ts';
import { Card } from '../../ui/card.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { Mark } from '../../ui/state.tsx';

const invalidReasons: Readonly<Record<string, string>> = {
  replaced: 'Another device of the app registered with its token.',
};

export function tellReason(reason: string | null): string {
  if (reason === null) return '';
  return invalidReasons[reason] ?? `${codeTitle(reason)}.`;
}

export function History({ device: { history, created_at } }: { device: Device }) {
  return (
    <Card title="History">
      <ol className="steps">
        {history.toReversed().map(({ at, status, reason }) => (
          <li className="step" key={at + status}>
            <Mark tone={toneOf(status)} mark={markOf(status)} />
            <Status status={status} />{' '}
            <span className="muted">
              <RelativeTime at={at} />
            </span>
            {reason !== null && <p style={{ margin: '2px 0 0' }}>{tellReason(reason)}</p>}
          </li>
        ))}
        {history.length === 0 && (
          <li className="step">
            <Mark tone="idle" mark="none" />
            Registered{' '}
            <span className="muted">
              <RelativeTime at={created_at} />
            </span>
          </li>
        )}
      </ol>
    </Card>
  );
}
