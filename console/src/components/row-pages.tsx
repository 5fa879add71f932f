// A list of rows with acts of their own, such as keys: read page by page, searched when it is long.
// Rows out of sight are not drawn; the browser skips them (`content-visibility`).
import { Button } from '@mantine/core';
import { useIntersection } from '@mantine/hooks';
import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import { Fragment, type ReactNode, useEffect } from 'react';
import { Empty } from '../ui/empty.tsx';
import { Filters } from '../ui/page-head.tsx';
import { SkeletonRows } from '../ui/virtual-rows.tsx';
import { SearchField } from './filter-fields.tsx';
import { useFilters } from './list.tsx';
import { ProblemPanel } from './problem.tsx';

/** Fewer rows are seen at a glance, and need no search. */
const searchedFrom = 12;

interface RowPagesProps<Page, Row> {
  readonly label: string;
  readonly query: UseInfiniteQueryResult<{ readonly pages: readonly Page[] }>;
  readonly rowsOf: (page: Page) => readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly rowOf: (row: Row) => ReactNode;
  /** The fields that `q` searches. */
  readonly finds: string;
  readonly empty: ReactNode;
}

export function RowPages<Page, Row>(props: RowPagesProps<Page, Row>) {
  const { label, query, rowsOf, keyOf, rowOf, finds, empty } = props;
  const { filters, field } = useFilters(['q']);
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = query;
  const { ref, entry } = useIntersection({ rootMargin: '400px' });
  const isEndNear = entry?.isIntersecting ?? false;
  useEffect(() => {
    if (isEndNear && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [isEndNear, hasNextPage, isFetchingNextPage, fetchNextPage]);
  const rows = data?.pages.flatMap(rowsOf) ?? [];
  const isSearched = filters.q !== undefined;
  return (
    <>
      {(isSearched || hasNextPage || rows.length >= searchedFrom) && (
        <Filters>
          <SearchField label="Find" placeholder={finds} {...field('q')} />
        </Filters>
      )}
      {!data && error && (
        <div style={{ padding: 16 }}>
          <ProblemPanel error={error} onRetry={() => void refetch()} />
        </div>
      )}
      {!data && !error && <SkeletonRows rows={3} />}
      {data && rows.length === 0 && (isSearched ? <Empty title="Nothing found">Change the text above.</Empty> : empty)}
      {rows.length > 0 && (
        <ul className="rows" aria-label={label}>
          {rows.map((row) => (
            <Fragment key={keyOf(row)}>{rowOf(row)}</Fragment>
          ))}
        </ul>
      )}
      {hasNextPage && (
        <div ref={ref} style={{ padding: 12, textAlign: 'center' }}>
          <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}
