import { Empty } from '../ui/empty.tsx';
import { PageHead } from '../ui/page-head.tsx';

/** Stands in place of a page that the person's role may not read. */
export function NotAllowed({ what, reason }: { what: string; reason: string | null }) {
  return (
    <>
      <PageHead title={what} />
      <Empty title="Your role does not show this page">{reason} Ask an owner of the organisation to change it.</Empty>
    </>
  );
}
