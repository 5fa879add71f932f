import { VisuallyHidden } from '@mantine/core';
import { formatNumber, formatShortDay } from '../format.ts';

interface DayBarsProps {
  readonly label: string;
  readonly days: readonly { readonly day: string; readonly count: number }[];
}

/** Counts by day as a table with bars from zero, so that screen readers can read it. */
export function DayBars({ label, days }: DayBarsProps) {
  const most = Math.max(1, ...days.map(({ count }) => count));
  return (
    <table className="bars">
      <caption className="muted">{label}</caption>
      <VisuallyHidden component="thead">
        <tr>
          <th scope="col">Day</th>
          <th scope="col">Bar</th>
          <th scope="col">Count</th>
        </tr>
      </VisuallyHidden>
      <tbody>
        {days.map(({ day, count }) => (
          <tr key={day}>
            <th scope="row" style={{ width: 72, whiteSpace: 'nowrap' }}>
              {formatShortDay(`${day}T12:00:00Z`)}
            </th>
            <td>
              <span className="bar" style={{ width: `${(count / most) * 100}%` }} />
            </td>
            <td style={{ textAlign: 'right' }}>{formatNumber(count)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
