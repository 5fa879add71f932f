import {
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleX,
  IconClock,
  IconLoader,
  IconMinus,
  type TablerIcon,
} from '@tabler/icons-react';

export type Tone = 'good' | 'bad' | 'warn' | 'idle';
export type StateMark = 'done' | 'failed' | 'waiting' | 'moving' | 'alert' | 'none';

const icons: Readonly<Record<StateMark, TablerIcon>> = {
  done: IconCircleCheck,
  failed: IconCircleX,
  waiting: IconClock,
  moving: IconLoader,
  alert: IconAlertTriangle,
  none: IconMinus,
};

/** A state as word, icon and colour, never by colour alone. */
export function State({ tone, mark, text }: { tone: Tone; mark: StateMark; text: string }) {
  const Icon = icons[mark];
  return (
    <span className={`state tone-${tone}`}>
      <Icon size={13} aria-hidden className={mark === 'moving' ? 'is-moving' : undefined} />
      {text}
    </span>
  );
}

/** The icon of a state alone, for the line of a timeline. Its text stands beside it. */
export function Mark({ tone, mark }: { tone: Tone; mark: StateMark }) {
  const Icon = icons[mark];
  return (
    <span className={`step-mark tone-${tone}`}>
      <Icon size={18} aria-hidden />
    </span>
  );
}

export interface Part {
  readonly name: string;
  readonly value: number;
  readonly tone: Tone;
}

/** Parts of a whole, each described in words below. */
export function Parts({ parts, label, isMoving }: { parts: readonly Part[]; label: string; isMoving?: boolean }) {
  const whole = parts.reduce((sum, { value }) => sum + value, 0);
  const shown = parts.filter(({ value }) => value > 0);
  return (
    <div className={isMoving ? 'parts is-moving' : 'parts'} role="img" aria-label={label}>
      {shown.map(({ name, value, tone }) => (
        <span key={name} className={`part tone-${tone}`} style={{ width: `${(value / whole) * 100}%` }} />
      ))}
    </div>
  );
}
