// A report between two views: the former one stays, dimmed, until the next one is there.
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Loaded } from './loaded.tsx';

interface LoadedReportProps<Data> {
  readonly query: UseQueryResult<Data>;
  readonly children: (data: Data) => ReactNode;
}

export function LoadedReport<Data>({ query, children }: LoadedReportProps<Data>) {
  return (
    <div className={query.isPlaceholderData ? 'stack is-former' : 'stack'} aria-busy={query.isPlaceholderData}>
      <Loaded query={query}>{children}</Loaded>
    </div>
  );
}
