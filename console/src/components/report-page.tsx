// A report: its head, the filters of the address, and its parts. Between two views the former one
// stays, dimmed, until the next one is there.
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { PageHead } from '../ui/page-head.tsx';
import { Loaded } from './loaded.tsx';
import { HandOn, ReportFilters } from './report-filters.tsx';

interface ReportPageProps<Data> {
  readonly title: string;
  readonly answer: string | null;
  /** Filters that this report alone has. */
  readonly filters?: ReactNode;
  readonly query: UseQueryResult<Data>;
  readonly children: (data: Data) => ReactNode;
  readonly below?: ReactNode;
}

export function ReportPage<Data>({ title, answer, filters, query, children, below }: ReportPageProps<Data>) {
  return (
    <>
      <PageHead title={title} answer={answer} actions={<HandOn />} />
      <div className="stack">
        <ReportFilters>{filters}</ReportFilters>
        <div className={query.isPlaceholderData ? 'stack is-former' : 'stack'} aria-busy={query.isPlaceholderData}>
          <Loaded query={query}>{children}</Loaded>
        </div>
        {below}
      </div>
    </>
  );
}
