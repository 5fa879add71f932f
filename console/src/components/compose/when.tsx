// When the message is sent, and how fast.
import { NumberInput, Switch, TextInput } from '@mantine/core';
import { useRef } from 'react';
import { formatExact, formatNumber } from '../../format.ts';
import { Card } from '../../ui/card.tsx';
import { Choice } from './choice.tsx';
import { fromWallClock, type MessageForm, toWallClock } from './message-form.ts';

interface WhenProps {
  readonly form: MessageForm;
  readonly onChange: (fields: Partial<MessageForm>) => void;
  /** The least speed that still finishes in time; null: not known yet. */
  readonly leastRate: number | null;
  readonly errors: Readonly<Partial<Record<'send_at' | 'per_second', string>>>;
  readonly isScheduled: boolean;
  readonly onScheduled: (isScheduled: boolean) => void;
}

const past = [
  { value: 'refuse', label: 'Refuse the message', note: 'You choose another time' },
  { value: 'now', label: 'Send there at once', note: 'As soon as the first zone is sent' },
  { value: 'skip', label: 'Leave those people out' },
] as const;

export function When({ form, onChange, leastRate, errors, isScheduled, onScheduled }: WhenProps) {
  const {
    send_at: at = null,
    local_time: isLocal = false,
    local_time_past: isPast = 'refuse',
    per_second: rate,
  } = form;
  // A person who switches to "now" and back finds the chosen time again.
  const kept = useRef(at);
  return (
    <Card title="When">
      <div className="stack" style={{ gap: 12 }}>
        <Choice
          label="Time"
          value={isScheduled ? 'at' : 'now'}
          options={[
            { value: 'now', label: 'Now' },
            { value: 'at', label: 'At a time' },
          ]}
          onChange={(next) => {
            onScheduled(next === 'at');
            if (next === 'now') kept.current = at;
            onChange({ send_at: next === 'now' ? null : kept.current });
          }}
        />
        {isScheduled && (
          <>
            <TextInput
              type="datetime-local"
              label="Date and time"
              value={toWallClock(at, isLocal)}
              onChange={({ currentTarget }) => onChange({ send_at: fromWallClock(currentTarget.value, isLocal) })}
              description={
                isLocal
                  ? 'On the clock of each person'
                  : `On the clock of ${Intl.DateTimeFormat().resolvedOptions().timeZone}`
              }
              error={errors.send_at}
            />
            <Switch
              label="In each person's local time"
              checked={isLocal}
              // The hour in the field is kept.
              onChange={({ currentTarget: { checked } }) =>
                onChange({ local_time: checked, send_at: fromWallClock(toWallClock(at, isLocal), checked) })
              }
            />
            {isLocal && (
              <Choice
                label="Where that time is past already"
                value={isPast}
                options={past}
                onChange={(next) => onChange({ local_time_past: next })}
              />
            )}
            {at !== null && !isLocal && <p className="muted compose-hint">{formatExact(at)}</p>}
          </>
        )}
        <NumberInput
          label="Pushes a second, at most"
          placeholder="As fast as the push services take it"
          description={
            rate && leastRate !== null
              ? `The slowest pace that still finishes in time is ${formatNumber(leastRate)} a second`
              : null
          }
          min={1}
          max={100_000}
          allowDecimal={false}
          thousandSeparator=","
          value={rate ?? ''}
          onChange={(next) => onChange({ per_second: typeof next === 'number' ? next : null })}
          error={errors.per_second}
        />
      </div>
    </Card>
  );
}
