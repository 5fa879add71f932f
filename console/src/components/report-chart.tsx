// A chart of a report with its table and its CSV. The address says which of the two is shown.
import { Button } from '@mantine/core';
import { IconChartLine, IconDownload, IconTable } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Card } from '../ui/card.tsx';
import { DataTable, type TableColumn } from '../ui/data-table.tsx';
import { type Line, LineChart } from '../ui/line-chart.tsx';
import { saveFile } from '../ui/save-file.ts';
import { ProblemPanel } from './problem.tsx';
import { useAddress } from './use-address.ts';

interface ReportChartProps<Row> {
  readonly title: string;
  readonly points: readonly string[];
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  readonly formatTick?: (value: number) => string;
  readonly provisionalFrom?: number | undefined;
  readonly columns: readonly TableColumn<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly csv?: { readonly name: string; readonly read: () => Promise<string> };
  readonly note?: ReactNode;
}

export function ReportChart<Row>(props: ReportChartProps<Row>) {
  const { title, points, lines, format, formatTick, provisionalFrom, columns, rows, keyOf, csv, note } = props;
  const { search, change } = useAddress();
  const isTable = search.get('view') === 'table';
  const Icon = isTable ? IconChartLine : IconTable;
  return (
    <Card
      title={title}
      isFlush={isTable}
      actions={
        <span className="no-print" style={{ display: 'flex', gap: 8 }}>
          <Button
            size="xs"
            variant="default"
            leftSection={<Icon size={15} aria-hidden />}
            onClick={() => change({ view: isTable ? null : 'table' })}
            aria-label={`${isTable ? 'Chart' : 'Table'} of ${title}`}
          >
            {isTable ? 'Chart' : 'Table'}
          </Button>
          {csv && <CsvButton what={title} {...csv} />}
        </span>
      }
    >
      {isTable ? (
        <DataTable label={title} columns={columns} rows={rows} keyOf={keyOf} />
      ) : (
        <LineChart
          label={title}
          points={points}
          lines={lines}
          format={format}
          formatTick={formatTick}
          provisionalFrom={provisionalFrom}
        />
      )}
      {note !== undefined && (
        <p className="muted" style={{ margin: isTable ? '8px 16px' : '4px 0 0', fontSize: 13 }}>
          {note}
        </p>
      )}
    </Card>
  );
}

export function CsvButton({ name, what, read }: { name: string; what: string; read: () => Promise<string> }) {
  const csv = useMutation({
    mutationFn: read,
    onSuccess: (text) => saveFile(name, new Blob([text], { type: 'text/csv' })),
  });
  return (
    <>
      <Button
        size="xs"
        variant="default"
        className="no-print"
        loading={csv.isPending}
        onClick={() => csv.mutate()}
        leftSection={<IconDownload size={15} aria-hidden />}
        aria-label={`CSV of ${what}`}
      >
        CSV
      </Button>
      {csv.error && <ProblemPanel error={csv.error} />}
    </>
  );
}
