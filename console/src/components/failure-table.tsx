// Failures and skips of a message by code: how many, what the code means, and the next step.
import { Link } from 'react-router';
import type { Message } from '../api/objects.ts';
import { asSentence, codeTitle, pageOfCode } from '../failure-codes.ts';
import { formatNumber } from '../format.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';

export function FailureTable({ app, message: { id, failures } }: { app: string; message: Message }) {
  if (failures.length === 0) return null;
  return (
    <Card title="Why some were not reached">
      <ul style={{ listStyle: 'none', margin: 0, padding: 0, display: 'grid', gap: 16 }}>
        {failures.map(({ code, count, meaning, action }) => {
          const page = pageOfCode(code, app);
          return (
            <li key={code} className="failure">
              <Link to={`${paths.message(app, id)}?code=${code}#deliveries`} className="failure-count">
                {formatNumber(count)}
              </Link>
              <div>
                <strong>{codeTitle(code)}</strong> <span className="mono muted">{code}</span>
                <p style={{ margin: '2px 0' }}>{asSentence(meaning)}</p>
                <p style={{ margin: 0 }}>
                  <span className="muted">Next: </span>
                  {action} {page !== undefined && <Link to={page}>Open it</Link>}
                </p>
              </div>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
