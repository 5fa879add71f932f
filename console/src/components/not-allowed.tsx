import type { ReactNode } from 'react';
import type { Act } from '../api/can.ts';
import { useMay } from '../api/session.ts';
import { Card } from '../ui/card.tsx';
import { Empty } from '../ui/empty.tsx';
import { PageHead } from '../ui/page-head.tsx';

interface NotAllowedProps {
  readonly what: string;
  readonly reason: string | null;
  /** True: the page has a heading of its own, and this is a card below it. */
  readonly isPart?: boolean;
}

/** Shown instead of content that the person's role may not read. */
export function NotAllowed({ what, reason, isPart = false }: NotAllowedProps) {
  const told = (
    <Empty title="Your role may not open this">{reason} Ask an owner of the organisation for another role.</Empty>
  );
  if (isPart) return <Card title={what}>{told}</Card>;
  return (
    <>
      <PageHead title={what} />
      {told}
    </>
  );
}

interface GateProps extends Omit<NotAllowedProps, 'reason'> {
  readonly act: Act;
  readonly children: ReactNode;
}

/** Shows content to people who may do an act. To others it shows the reason. */
export function Gate({ act, children, ...page }: GateProps) {
  const { may, reason } = useMay(act);
  return may ? children : <NotAllowed reason={reason} {...page} />;
}

/** A button, or the reason why the person's role may not do its act. */
export function May({ act, children, size }: { act: Act; children: ReactNode; size?: number }) {
  const { may, reason } = useMay(act);
  if (may) return children;
  return (
    <span className="muted" style={{ fontSize: size }}>
      {reason}
    </span>
  );
}
