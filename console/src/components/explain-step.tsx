// One step of an explanation in words: the finding, and for a no the next step. Every named object
// is a link.
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { ExplainStep } from '../api/objects.ts';
import { asSentence, codeTitle, meaningOfCode, pageOfCode } from '../failure-codes.ts';
import { channelNames, count, formatExact } from '../format.ts';
import { paths } from '../paths.ts';
import { nameOfOperator } from './filter-builder/fields.ts';

type StepName = ExplainStep['step'];
type Detail<Name extends StepName> = Extract<ExplainStep, { step: Name }>['detail'];

export const questions: Readonly<Record<StepName, string>> = {
  message: 'Did the message run?',
  user: 'Is the user known?',
  devices: 'Have they an active device?',
  audience: 'Are they in the audience?',
  excluded: 'Does the exclusion let them pass?',
  channel: 'Can the channel send?',
  turn: 'Was it their turn yet?',
  attempts: 'Did the push service take it?',
  receipt: 'Did the device show it?',
};

export function StepDetail({ app, step }: { app: string; step: ExplainStep }) {
  const told = tell(app, step);
  if (told === null) return null;
  return (
    <div className={step.ok ? 'muted' : undefined} style={{ margin: '2px 0 0' }}>
      {told}
    </div>
  );
}

function tell(app: string, step: ExplainStep): ReactNode {
  switch (step.step) {
    case 'message':
      return ofMessage(step.detail);
    case 'user':
      return ofUser(app, step.ok, step.detail);
    case 'devices':
      return ofDevices(app, step.detail);
    case 'audience':
    case 'excluded':
      return <Selection app={app} isOk={step.ok} detail={step.detail} />;
    case 'channel':
      return ofChannel(app, step.ok, step.detail);
    case 'turn':
      return ofTurn(step.detail);
    case 'attempts':
      return ofAttempts(app, step.detail);
    case 'receipt':
      return ofReceipt(step.detail);
  }
}

function ofMessage({ run_at, finished_at }: Detail<'message'>): ReactNode {
  if (finished_at !== null) return `It ended ${formatExact(finished_at)}.`;
  return run_at === null ? null : `It runs ${formatExact(run_at)}.`;
}

function ofUser(app: string, isOk: boolean, { external_id, created_at }: Detail<'user'>): ReactNode {
  if (!isOk) return 'No profile has this external id. Send it with POST /v1/users, or check how it is written.';
  const since = created_at === null ? '' : ` Known since ${formatExact(created_at)}.`;
  if (!external_id) return since.trim() || null;
  return (
    <>
      The device belongs to <Link to={paths.user(app, external_id)}>{external_id}</Link>.{since}
    </>
  );
}

function ofDevices(app: string, detail: Detail<'devices'>): ReactNode {
  const { active, invalid, unsubscribed, status, status_reason, device_id, error_code } = detail;
  if (error_code !== undefined) return <Reason app={app} code={error_code} />;
  const counts = [
    ...(active === undefined ? [] : [`${active} active`]),
    ...(invalid ? [`${invalid} invalid`] : []),
    ...(unsubscribed ? [`${unsubscribed} unsubscribed`] : []),
  ];
  return (
    <>
      {device_id !== undefined && (
        <>
          <Link className="mono" to={paths.device(app, device_id)}>
            {device_id}
          </Link>{' '}
        </>
      )}
      {counts.length > 0 && `${counts.join(', ')}.`}
      {status && ` It is now ${status}${status_reason ? `: ${codeTitle(status_reason).toLowerCase()}` : ''}.`}
      {active === 0 && ' Nothing reaches them until a device registers again.'}
    </>
  );
}

const selectionReasons: Readonly<Record<string, string>> = {
  not_listed: 'The message names others.',
  segment_gone: 'The segment was deleted.',
  filter_invalid: 'The filter no longer fits the catalog of properties.',
  registered_later: 'The device was registered after the message had started.',
  changed_since: 'It matches now, and did not when the message ran.',
};

interface SelectionProps {
  readonly app: string;
  readonly isOk: boolean;
  readonly detail: Detail<'audience'>;
}

/** The deciding condition, with the value that it found. */
function Selection({ app, isOk, detail }: SelectionProps) {
  const { segment, field, event, op, value, actual, under_not, reason, as_of } = detail;
  const what = field ?? event;
  return (
    <>
      {segment && (
        <>
          Segment <Link to={paths.segment(app, segment.id)}>{segment.name}</Link>.{' '}
        </>
      )}
      {reason !== undefined && `${selectionReasons[reason] ?? reason} `}
      {what !== undefined && !isOk && (
        <>
          {under_not ? 'The filter leaves out people where ' : 'The filter asks that '}
          <Compared app={app} field={field} event={event} /> {op !== undefined && nameOfOperator(op)}
          {value !== undefined && (
            <>
              {' '}
              <strong className="mono">{JSON.stringify(value)}</strong>
            </>
          )}
          ; the value is{' '}
          <strong className="mono">
            {actual === null || actual === undefined ? 'missing' : JSON.stringify(actual)}
          </strong>
          .{' '}
        </>
      )}
      {as_of === 'now' && 'Values are those of now.'}
    </>
  );
}

const ownProperty = /^(?:device\.)?properties\.(.+)$/;

/**
 * The property, event or attribute of a condition. Properties and events have pages, so they are
 * links.
 */
function Compared({ app, field, event }: { app: string; field: string | undefined; event: string | undefined }) {
  if (event !== undefined) return <Link to={paths.event(app, event)}>{event}</Link>;
  const key = ownProperty.exec(field ?? '')?.[1];
  if (key === undefined) return <span className="mono">{field}</span>;
  return (
    <Link className="mono" to={paths.property(app, key)}>
      {field}
    </Link>
  );
}

const credentials = { ok: 'healthy', suspect: 'suspect', failing: 'failing', missing: 'missing' } as const;

function ofChannel(app: string, isOk: boolean, { channel, credential }: Detail<'channel'>): ReactNode {
  return (
    <>
      {channelNames[channel]}: its credential is {credentials[credential]}.{' '}
      {!isOk && <Link to={paths.channels(app)}>Set it under Channels</Link>}
    </>
  );
}

const turns: Readonly<Record<string, string>> = {
  paused: 'All sends are paused.',
  not_due: 'Its local time has not come.',
  under_way: 'Its batch is being sent.',
  provider: 'The push service asked for a pause.',
  setback: 'Its batch could not be worked and is tried again.',
  rate: 'The message is sent at its own rate.',
  queued: 'Other devices come first.',
  local_time_past: 'The local time had passed in its time zone.',
};

function ofTurn({ queued_at, reason, until, per_second }: Detail<'turn'>): ReactNode {
  const parts = [
    `Queued ${formatExact(queued_at)}.`,
    ...(reason === undefined ? [] : [turns[reason] ?? reason]),
    ...(per_second === undefined ? [] : [`${count(per_second, 'device')} a second.`]),
    ...(until === undefined ? [] : [`Until ${formatExact(until)}.`]),
  ];
  return parts.join(' ');
}

function ofAttempts(app: string, detail: Detail<'attempts'>): ReactNode {
  const { error_code, attempts, http_status, done_at, retry_at } = detail;
  const answer = http_status === null ? '' : `, the last with HTTP ${http_status}`;
  return (
    <>
      {count(attempts, 'attempt')}
      {answer}, {formatExact(done_at)}.{retry_at !== null && ` The next one is ${formatExact(retry_at)}.`}
      {error_code !== null && <Reason app={app} code={error_code} />}
    </>
  );
}

function ofReceipt({ displayed_at, clicked_at, dismissed_at, action }: Detail<'receipt'>): ReactNode {
  const parts = [
    ...(displayed_at === null ? [] : [`Displayed ${formatExact(displayed_at)}.`]),
    ...(clicked_at === null ? [] : [`Clicked ${formatExact(clicked_at)}${action === null ? '' : `, on “${action}”`}.`]),
    ...(dismissed_at === null ? [] : [`Dismissed ${formatExact(dismissed_at)}.`]),
  ];
  return parts.length === 0 ? null : parts.join(' ');
}

/** A code with its meaning and the next step. */
function Reason({ app, code }: { app: string; code: string }) {
  const known = meaningOfCode(code);
  const page = pageOfCode(code, app);
  return (
    <div>
      <strong>{codeTitle(code)}</strong> <span className="mono muted">{code}</span>
      {known && (
        <div>
          {asSentence(known.meaning)} {known.action} {page !== undefined && <Link to={page}>Open Channels</Link>}
        </div>
      )}
    </div>
  );
}
