// The deliveries of a message as a file, with the filters of the list. The pages are read one after
// another, so a large message takes a while. The button shows the progress, and a press stops the
// download.
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconDownload } from '@tabler/icons-react';
import { useRef, useState } from 'react';
import { call, type Given } from '../api/client.ts';
import type { Delivery } from '../api/objects.ts';
import { useMay } from '../api/session.ts';
import { formatNumber } from '../format.ts';
import { writeCsv } from '../ui/csv.ts';
import { saveFile } from '../ui/save-file.ts';
import { tellFailure } from './problem.tsx';

/** Rows of a page: the most that the API allows. */
const pageRows = 500;
/** Rows of a file: more than a spreadsheet opens with ease (a guess). */
const rowsMax = 100_000;

const columns = [
  'device_id',
  'external_id',
  'platform',
  'channel',
  'status',
  'error_code',
  'attempts',
  'queued_at',
  'sent_at',
  'failed_at',
  'displayed_at',
  'clicked_at',
] as const satisfies readonly (keyof Delivery)[];

interface DeliveryCsvProps {
  readonly app: string;
  readonly message: string;
  readonly filters: Omit<Given<'listDeliveries'>, 'app' | 'id'>;
}

export function DeliveryCsv({ app, message, filters }: DeliveryCsvProps) {
  const [read, setRead] = useState<number>();
  const stop = useRef<AbortController>(null);
  const { may } = useMay('value.read');
  const save = async () => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    const rows: Delivery[] = [];
    setRead(0);
    try {
      let cursor: string | undefined;
      do {
        const page = await call(
          'listDeliveries',
          { app, id: message, ...filters, cursor, limit: pageRows },
          { signal },
        );
        rows.push(...page.data);
        setRead(rows.length);
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined && rows.length < rowsMax);
      const shown = may ? columns : columns.filter((column) => column !== 'external_id');
      const text = writeCsv(
        shown,
        rows.map((row) => shown.map((column) => row[column])),
      );
      saveFile(`${message}-deliveries.csv`, new Blob([text], { type: 'text/csv' }));
      if (cursor !== undefined) {
        const first = `The file has the first ${formatNumber(rows.length)} deliveries.`;
        notifications.show({ color: 'yellow', message: `${first} Filter by state or reason for the others.` });
      }
    } catch (error) {
      if (!signal.aborted) notifications.show({ color: 'red', message: tellFailure(error) });
    } finally {
      setRead(undefined);
    }
  };
  return (
    <Button
      variant="default"
      leftSection={<IconDownload size={16} aria-hidden />}
      onClick={() => (read === undefined ? void save() : stop.current?.abort())}
    >
      {read === undefined ? 'CSV' : `Stop at ${formatNumber(read)}`}
    </Button>
  );
}
