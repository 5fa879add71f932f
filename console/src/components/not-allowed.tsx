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
