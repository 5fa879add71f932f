// The states of our objects as people see them. The same state looks the same everywhere.
import { State, type StateMark, type Tone } from '../ui/state.tsx';

type Look = readonly [tone: Tone, mark: StateMark, text: string];

const looks: Readonly<Record<string, Look>> = {
  scheduled: ['idle', 'waiting', 'Scheduled'],
  sending: ['warn', 'moving', 'Sending'],
  sent: ['good', 'done', 'Sent'],
  failed: ['bad', 'failed', 'Failed'],
  canceled: ['idle', 'none', 'Canceled'],
  retrying: ['warn', 'waiting', 'Retrying'],
  skipped: ['idle', 'none', 'Skipped'],
  active: ['good', 'done', 'Active'],
  invalid: ['bad', 'failed', 'Invalid'],
  unsubscribed: ['idle', 'none', 'Unsubscribed'],
  enabled: ['good', 'done', 'Enabled'],
  disabled: ['bad', 'alert', 'Disabled'],
  suspended: ['bad', 'alert', 'Suspended'],
  ok: ['good', 'done', 'Healthy'],
  suspect: ['warn', 'alert', 'Suspect'],
  failing: ['bad', 'alert', 'Failing'],
  expiring: ['warn', 'waiting', 'Expiring'],
  expired: ['idle', 'none', 'Expired'],
  revoked: ['idle', 'none', 'Revoked'],
  displayed: ['good', 'done', 'Displayed'],
  clicked: ['good', 'done', 'Clicked'],
  waiting: ['warn', 'waiting', 'Waiting'],
  excluded: ['idle', 'none', 'Excluded'],
  not_in_audience: ['idle', 'none', 'Not in the audience'],
  no_active_device: ['idle', 'none', 'No active device'],
  unknown_user: ['idle', 'none', 'Unknown user'],
};

export function toneOf(status: string): Tone {
  return looks[status]?.[0] ?? 'idle';
}

export function markOf(status: string): StateMark {
  return looks[status]?.[1] ?? 'none';
}

export function Status({ status }: { status: string }) {
  const [tone, mark, text] = looks[status] ?? (['idle', 'none', status] as const);
  return <State tone={tone} mark={mark} text={text} />;
}
