// A list of our objects: virtual rows that are read page by page, with the states loading, empty
// and error. The address has the cursor of the visible page.
import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import { type ReactNode, useCallback } from 'react';
import { Link } from 'react-router';
import { Card } from '../ui/card.tsx';
import { Filters } from '../ui/page-head.tsx';
import { type Column, SkeletonRows, VirtualRows } from '../ui/virtual-rows.tsx';
import { SearchField } from './filter-fields.tsx';
import { ProblemPanel } from './problem.tsx';
import { useAddress, withValues } from './use-address.ts';

interface PageOf<Row> {
  readonly data: readonly Row[];
  readonly next_cursor: string | null;
}

interface ListProps<Row> {
  readonly label: string;
  readonly query: UseInfiniteQueryResult<{ pages: PageOf<Row>[]; pageParams: unknown[] }>;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly hrefOf?: (row: Row) => string;
  readonly empty: ReactNode;
  readonly minWidth?: number;
}

export function List<Row>({ label, query, columns, keyOf, hrefOf, empty, minWidth }: ListProps<Row>) {
  const { search, change } = useAddress();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = query;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  if (!data) {
    if (error)
      return <div style={{ padding: 16 }}>{<ProblemPanel error={error} onRetry={() => void refetch()} />}</div>;
    return <SkeletonRows />;
  }
  const rows = data.pages.flatMap((page) => page.data);
  if (rows.length === 0 && !hasNextPage) return empty;
  const isMidway = search.get('cursor') !== null;
  return (
    <>
      {isMidway && (
        <p style={{ margin: 0, padding: '8px 16px' }} className="muted">
          This list starts in the middle.{' '}
          <button
            type="button"
            className="copy-id"
            onClick={() => change({ cursor: null }, {})}
            style={{ textDecoration: 'underline' }}
          >
            Show it from the beginning
          </button>
        </p>
      )}
      <VirtualRows
        label={label}
        rows={rows}
        columns={columns}
        keyOf={keyOf}
        renderRow={(row, attributes, cells) =>
          hrefOf ? (
            <Link to={hrefOf(row)} {...attributes}>
              {cells}
            </Link>
          ) : (
            <div {...attributes}>{cells}</div>
          )
        }
        onEnd={hasNextPage ? onEnd : undefined}
        isLoadingMore={isFetchingNextPage}
        minWidth={minWidth ?? 0}
      />
      {data.pages.length > 1 && data.pageParams.at(-1) !== undefined && (
        <p style={{ margin: 0, padding: '8px 16px', fontSize: 12 }} className="muted">
          {rows.length} rows.{' '}
          <Link to={`?${withValues(search, { cursor: String(data.pageParams.at(-1)) })}`} replace>
            Link to this part of the list
          </Link>
        </p>
      )}
    </>
  );
}

interface FoundListProps<Row> extends ListProps<Row> {
  /** The placeholder of the search, such as `The beginning of a name`. */
  readonly finds: string;
  readonly search: Pick<React.ComponentProps<typeof SearchField>, 'value' | 'onChange'>;
  /** The filters beside the search. */
  readonly filters?: ReactNode;
}

/** A list on a card of its own, below its search. */
export function FoundList<Row>({ finds, search, filters, ...list }: FoundListProps<Row>) {
  return (
    <Card isFlush>
      <Filters>
        <SearchField label="Find" placeholder={finds} {...search} />
        {filters}
      </Filters>
      <List {...list} />
    </Card>
  );
}

/**
 * Filters of a list, as the address has them. Setting a filter drops the cursor, which belongs to
 * the former filters.
 */
export function useFilters<Name extends string>(names: readonly Name[]) {
  const { search, change } = useAddress();
  const filters = Object.fromEntries(names.map((name) => [name, search.get(name) || undefined])) as Record<
    Name,
    string | undefined
  >;
  const set = (name: Name, value: string | null) => change({ cursor: null, [name]: value });
  /** The properties of the field above the list that shows and sets one filter. */
  const field = (name: Name) => ({
    value: filters[name],
    onChange: (value: string | null) => set(name, value),
  });
  return { filters, set, field, from: search.get('cursor') ?? undefined };
}
