// The messages that purchases are credited to.

import { Link } from 'react-router';
import { type Given, readCsv } from '../../api/client.ts';
import type { RevenueReport } from '../../api/objects.ts';
import { nameOf } from '../../components/message-text.ts';
import { CsvButton } from '../../components/report-chart.tsx';
import { formatNumber, formatShare } from '../../format.ts';
import { formatExactMoney } from '../../money.ts';
import { paths } from '../../paths.ts';
import { Card } from '../../ui/card.tsx';
import { DataTable } from '../../ui/data-table.tsx';

interface ByMessageProps {
  readonly asked: Given<'reportRevenue'>;
  readonly currency: string;
  readonly hasMore: boolean;
  readonly messages: RevenueReport['messages'];
}

export function ByMessage({ asked, currency, messages, hasMore }: ByMessageProps) {
  if (messages.length === 0) return null;
  const most = Math.max(...messages.map(({ direct, influenced }) => Number(direct.amount) + Number(influenced.amount)));
  return (
    <Card
      title="By message"
      isFlush
      actions={<CsvButton what="messages" name="messages.csv" read={() => readCsv('reportRevenue', asked)} />}
    >
      <DataTable
        label="Revenue by message"
        rows={messages}
        keyOf={({ message_id }) => message_id}
        columns={[
          {
            name: 'Message',
            cell: ({ message_id, name, title }) => (
              <Link to={paths.message(asked.app, message_id)}>{nameOf({ id: message_id, name, title })}</Link>
            ),
          },
          {
            name: 'Share of the highest',
            cell: ({ direct, influenced }) => {
              const amount = Number(direct.amount) + Number(influenced.amount);
              return (
                <span className="share" title={`${formatShare(amount, most)} of the highest`}>
                  <span style={{ width: `${(100 * amount) / (most || 1)}%` }} />
                </span>
              );
            },
          },
          { name: 'Direct', isNumber: true, cell: ({ direct }) => formatExactMoney(direct.amount, currency) },
          {
            name: 'Influenced',
            isNumber: true,
            cell: ({ influenced }) => formatExactMoney(influenced.amount, currency),
          },
          {
            name: 'Purchases',
            isNumber: true,
            cell: ({ direct, influenced }) => formatNumber(direct.purchases + influenced.purchases),
          },
        ]}
      />
      {hasMore && (
        <p className="muted" style={{ margin: 0, padding: '8px 16px', fontSize: 13 }}>
          The 200 rows with the most direct revenue. A shorter range shows others.
        </p>
      )}
    </Card>
  );
}
