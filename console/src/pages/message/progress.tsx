// The deliveries that are sent, failed, skipped and still to go: in all, and by channel.
import type { Message } from '../../api/objects.ts';
import { channelNames, formatNumber, formatShare } from '../../format.ts';
import { Card } from '../../ui/card.tsx';
import { type Part, Parts } from '../../ui/state.tsx';

export function Progress({ message: { report, status } }: { message: Message }) {
  const parts: readonly Part[] = [
    { name: 'Sent', value: report.sent, tone: 'good' },
    { name: 'Failed', value: report.failed, tone: 'bad' },
    { name: 'Skipped', value: report.skipped, tone: 'idle' },
    { name: 'To go', value: report.pending ?? 0, tone: 'warn' },
  ];
  return (
    <Card>
      <Parts
        parts={parts}
        label={parts.map(({ name, value }) => `${name} ${formatNumber(value)}`).join(', ')}
        isMoving={status === 'sending'}
      />
      <ul className="key-dots">
        {parts
          .filter(({ value, name }) => value > 0 || name === 'Sent')
          .map(({ name, value, tone }) => (
            <li key={name}>
              <span className={`dot tone-${tone}`} aria-hidden="true" />
              {name} <strong>{formatNumber(value)}</strong>
              <span className="muted">{formatShare(value, report.accepted)}</span>
            </li>
          ))}
      </ul>
    </Card>
  );
}

export function ByChannel({ message: { by_channel } }: { message: Message }) {
  const used = Object.entries(by_channel).filter(([, { accepted }]) => accepted > 0);
  if (used.length === 0) return null;
  return (
    <Card title="By channel">
      <div style={{ display: 'grid', gap: 12 }}>
        {used.map(([channel, { accepted, sent, failed, skipped }]) => (
          <div key={channel}>
            <div style={{ display: 'flex', justifyContent: 'space-between', marginBottom: 4 }}>
              <span>{channelNames[channel as keyof typeof channelNames]}</span>
              <span className="muted">
                {formatNumber(sent)} of {formatNumber(accepted)} sent
              </span>
            </div>
            <Parts
              label={`${formatNumber(sent)} sent, ${formatNumber(failed)} failed, ${formatNumber(skipped)} skipped`}
              parts={[
                { name: 'Sent', value: sent, tone: 'good' },
                { name: 'Failed', value: failed, tone: 'bad' },
                { name: 'Skipped', value: skipped, tone: 'idle' },
                { name: 'To go', value: accepted - sent - failed - skipped, tone: 'warn' },
              ]}
            />
          </div>
        ))}
      </div>
    </Card>
  );
}
