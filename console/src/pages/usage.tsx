// The plan of an app and how much of it is used, in deliveries.
import { Select } from '@mantine/core';
import { useState } from 'react';
import { call } from '../api/client.ts';
import type { App, Usage } from '../api/objects.ts';
import { ofApp, queryClient, refresh, useAnswer } from '../api/queries.ts';
import { useApp, useAppId } from '../api/session.ts';
import { ConfirmButton } from '../components/confirm.tsx';
import { Loaded } from '../components/loaded.tsx';
import { CsvButton } from '../components/report-chart.tsx';
import { formatPeriod } from '../components/report-text.ts';
import { count, formatDay, formatNumber, formatShare } from '../format.ts';
import { Card } from '../ui/card.tsx';
import { writeCsv } from '../ui/csv.ts';
import { Parts } from '../ui/state.tsx';

export function UsagePage() {
  const app = useAppId();
  const whole = useApp();
  const usage = useAnswer('getUsage', { app });
  return (
    <Loaded query={usage}>
      {(data) => (
        <>
          <Used usage={data} />
          <Months usage={data} />
          <PlanCard app={whole} present={data.plan} />
        </>
      )}
    </Loaded>
  );
}

function Used({ usage: { plan, used, limit, resets_at, unit } }: { usage: Usage }) {
  const units = unit === 'delivery' ? 'deliveries' : 'messages';
  const all = count(used, unit, units);
  const share = limit === null ? 0 : used / limit;
  return (
    <Card title="This month">
      <p className="headline" style={{ marginBottom: limit === null ? 0 : 12 }}>
        {limit === null
          ? `${all}. The plan “${plan}” has no limit.`
          : `${formatNumber(used)} of ${formatNumber(limit)} ${units} of the plan “${plan}” (${formatShare(used, limit)}). The count starts again on ${formatDay(resets_at)}.`}
      </p>
      {limit !== null && (
        <Parts
          label={`${formatShare(used, limit)} used`}
          parts={[
            { name: 'Used', value: used, tone: share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'good' },
            { name: 'Left', value: Math.max(0, limit - used), tone: 'idle' },
          ]}
        />
      )}
    </Card>
  );
}

function Months({ usage: { months, unit } }: { usage: Usage }) {
  const most = Math.max(1, ...months.map(({ used }) => used));
  return (
    <Card
      title="The last twelve months"
      actions={
        <CsvButton
          what="twelve months"
          name="usage.csv"
          read={async () =>
            writeCsv(
              ['month', 'used'],
              months.map(({ month, used }) => [month, used]),
            )
          }
        />
      }
    >
      <table className="bars">
        <caption className="muted">{unit === 'delivery' ? 'Deliveries' : 'Messages'} by calendar month, UTC</caption>
        <tbody>
          {months.map(({ month, used }) => (
            <tr key={month}>
              <th scope="row">{formatPeriod(`${month}-01T00:00:00Z`, 'month', 'UTC')}</th>
              <td>
                <span className="bar" style={{ width: `${(used / most) * 100}%` }} />
              </td>
              <td className="cell right">{formatNumber(used)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function PlanCard({ app, present }: { app: App; present: string }) {
  const plans = useAnswer('listPlans', {});
  const [chosen, setChosen] = useState(present);
  return (
    <Card title="Plan">
      <Loaded query={plans}>
        {({ data }) => (
          <div style={{ display: 'flex', flexWrap: 'wrap', gap: 12, alignItems: 'end' }}>
            <Select
              label="Plan of this app"
              data={data.map(({ name, quota }) => ({
                value: name,
                label: `${name}: ${quota === null ? 'no limit' : `${formatNumber(quota.per_month)} ${quota.unit === 'delivery' ? 'deliveries' : 'messages'} a month`}`,
              }))}
              value={chosen}
              onChange={(plan) => setChosen(plan ?? present)}
              w={320}
            />
            {chosen !== present && (
              <ConfirmButton
                label="Change the plan"
                title={`Change the plan to ${chosen}?`}
                effect="It holds within two seconds. Messages that were accepted are never canceled by it."
                run={async () => {
                  await call('changePlan', { app: app.id, body: { plan: chosen, updated_at: app.updated_at } });
                  await queryClient.invalidateQueries(ofApp(app.id));
                  await refresh('listApps');
                }}
              />
            )}
          </div>
        )}
      </Loaded>
    </Card>
  );
}
