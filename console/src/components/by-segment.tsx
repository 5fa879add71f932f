// Revenue of the people of chosen segments, beside each other. Each is classed from single events, so
// the page shows the rest meanwhile.
import { MultiSelect } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { RevenueRow } from '../api/objects.ts';
import { listSegments, type RevenueRange } from '../api/operations.ts';
import { queries } from '../api/queries.ts';
import { formatNumber } from '../format.ts';
import { formatExactMoney } from '../money.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { writeCsv } from '../ui/csv.ts';
import { DataTable } from '../ui/data-table.tsx';
import { CsvButton } from './report-chart.tsx';
import { useReportView } from './report-view.ts';

const chosenMost = 5;

export function BySegment({ app, asked, currency }: { app: string; asked: RevenueRange; currency: string }) {
  const { search, change } = useReportView();
  const chosen = (search.get('segments') ?? '').split(',').filter(Boolean).slice(0, chosenMost);
  const segments =
    useQuery({
      queryKey: ['app', app, 'segments', 'to choose'],
      queryFn: () => listSegments(app, { limit: 200 }),
      staleTime: 60_000,
    }).data?.data ?? [];
  const reports = useQueries({
    queries: chosen.map((segment_id) => queries.revenue(app, { ...asked, segment_id })),
  });
  if (segments.length === 0) return null;
  const rows = chosen.map((id, i) => ({
    id,
    name: segments.find((segment) => segment.id === id)?.name ?? id,
    isLoading: reports[i]?.isPending ?? true,
    error: reports[i]?.error ?? null,
    row: reports[i]?.data?.revenue?.find((each) => each.currency === currency),
    all: reports[i]?.data?.revenue ?? [],
  }));
  const cell = (of: (row: NonNullable<(typeof rows)[number]['row']>) => string) => {
    return ({ isLoading, error, row }: (typeof rows)[number]) => {
      if (error) return <span title={error.message}>refused</span>;
      if (isLoading) return <span className="muted">…</span>;
      return row ? of(row) : '–';
    };
  };
  const money = (name: 'direct' | 'influenced' | 'unattributed') =>
    cell((row) => formatExactMoney(row[name].amount, currency));
  return (
    <Card
      title="By segment"
      isFlush
      isPrinted={rows.length > 0}
      actions={rows.length > 0 && <CsvButton what="segments" name="segments.csv" read={async () => writeRows(rows)} />}
    >
      <div className="no-print" style={{ padding: '0 16px 12px' }}>
        <MultiSelect
          label="Segments"
          placeholder={rows.length === 0 ? `Choose up to ${chosenMost}` : ''}
          description="Purchases of the people who are in a segment now, from the events that are kept."
          data={segments.map(({ id, name }) => ({ value: id, label: name }))}
          value={chosen}
          maxValues={chosenMost}
          searchable
          onChange={(values) => change({ segments: values.join(',') })}
        />
      </div>
      {rows.length > 0 && (
        <DataTable
          label="Revenue by segment"
          rows={rows}
          keyOf={({ id }) => id}
          columns={[
            { name: 'Segment', cell: ({ id, name }) => <Link to={paths.segment(app, id)}>{name}</Link> },
            { name: 'Total', isNumber: true, cell: cell(({ total }) => formatExactMoney(total, currency)) },
            { name: 'Purchases', isNumber: true, cell: cell(({ purchases }) => formatNumber(purchases)) },
            { name: 'Direct', isNumber: true, cell: money('direct') },
            { name: 'Influenced', isNumber: true, cell: money('influenced') },
            { name: 'Unattributed', isNumber: true, cell: money('unattributed') },
          ]}
        />
      )}
    </Card>
  );
}

const classes = ['direct', 'influenced', 'unattributed'] as const;

interface SegmentRow {
  readonly id: string;
  readonly name: string;
  readonly isLoading: boolean;
  readonly error: Error | null;
  readonly all: readonly RevenueRow[];
}

/** The rows of every currency. Throws for a segment whose answer is not there. */
function writeRows(rows: readonly SegmentRow[]): string {
  for (const { name, isLoading, error } of rows) {
    if (error) throw error;
    if (isLoading) throw new Error(`${name} is still being counted.`);
  }
  return writeCsv(
    [
      'segment_id',
      'segment',
      'currency',
      'total',
      'purchases',
      ...classes.flatMap((name) => [name, `${name}_purchases`]),
    ],
    rows.flatMap(({ id, name, all }) =>
      all.map((row) => [
        ...[id, name, row.currency, row.total, row.purchases],
        ...classes.flatMap((each) => [row[each].amount, row[each].purchases]),
      ]),
    ),
  );
}
