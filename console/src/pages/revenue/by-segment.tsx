// Revenue of the people of chosen segments, side by side. It is computed from single events, which
// takes time, so the page shows the rest meanwhile.
import { MultiSelect } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQueries } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import type { Given } from '../../api/client.ts';
import type { RevenueRow } from '../../api/objects.ts';
import { queryOf, useAnswer } from '../../api/queries.ts';
import { CsvButton } from '../../components/report-chart.tsx';
import { useReportView } from '../../components/report-view.ts';
import { formatNumber } from '../../format.ts';
import { formatExactMoney } from '../../money.ts';
import { paths } from '../../paths.ts';
import { Card } from '../../ui/card.tsx';
import { writeCsv } from '../../ui/csv.ts';
import { DataTable } from '../../ui/data-table.tsx';
import { classes } from './revenue-row.ts';

const chosenMost = 5;
const segmentsShown = 50;

export function BySegment({ asked, currency }: { asked: Given<'reportRevenue'>; currency: string }) {
  const { app } = asked;
  const { search: address, change } = useReportView();
  const chosen = (address.get('segments') ?? '').split(',').filter(Boolean).slice(0, chosenMost);
  const [search, setSearch] = useState('');
  const [found] = useDebouncedValue(search.trim(), 150);
  const listed = useAnswer(
    'listSegments',
    { app, limit: segmentsShown, q: found.slice(0, 128) },
    { placeholderData: keepPreviousData, staleTime: 60_000 },
  );
  // A chosen segment is shown by name even if it is not in the list.
  const names = useQueries({
    queries: chosen.map((id) => ({ ...queryOf('getSegment', { app, id }), staleTime: 60_000, retry: false })),
  });
  const nameOf = (i: number): string => names[i]?.data?.name ?? chosen[i] ?? '';
  const reports = useQueries({
    queries: chosen.map((segment_id) => queryOf('reportRevenue', { ...asked, segment_id })),
  });
  if (chosen.length === 0 && found === '' && (listed.data?.data ?? []).length === 0) return null;
  const options = [
    ...chosen.map((id, i) => ({ value: id, label: nameOf(i) })),
    ...(listed.data?.data ?? [])
      .filter(({ id }) => !chosen.includes(id))
      .map(({ id, name }) => ({ value: id, label: name })),
  ];
  const rows = chosen.map((id, i) => ({
    id,
    name: nameOf(i),
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
  const money = (name: (typeof classes)[number]) => cell((row) => formatExactMoney(row[name].amount, currency));
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
          data={options}
          value={chosen}
          maxValues={chosenMost}
          searchable
          searchValue={search}
          onSearchChange={setSearch}
          filter={({ options: all }) => all}
          nothingFoundMessage={listed.isFetching ? 'Searching…' : 'No segment begins with this text'}
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
