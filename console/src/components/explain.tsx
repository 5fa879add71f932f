// Why did this person, or this device, get nothing? One message is explained in detail. Without a
// message, the newest messages are listed with their verdicts.
import { Button, Select } from '@mantine/core';
import { Link } from 'react-router';
import type { Given } from '../api/client.ts';
import type { Explanation } from '../api/objects.ts';
import { useAnswer } from '../api/queries.ts';
import { codeTitle } from '../failure-codes.ts';
import { count, withLocalTimes } from '../format.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { Empty } from '../ui/empty.tsx';
import { Mark } from '../ui/state.tsx';
import { questions, StepDetail } from './explain-step.tsx';
import type { NamedObject } from './link-parts.ts';
import { LinkedText } from './linked-text.tsx';
import { Loaded } from './loaded.tsx';
import { nameOf } from './message-text.ts';
import { Status } from './status.tsx';
import { useAddress } from './use-address.ts';

const offered = 50;

/** `question` names the app, and the user or the device. */
export function Explain({ question }: { question: Given<'explain'> }) {
  const { app } = question;
  const { search, change } = useAddress();
  const chosen = search.get('explain');
  const setChosen = (message: string | null) =>
    change({ explain: message }, { replace: true, preventScrollReset: true });
  const messages = useAnswer('listMessages', { app, limit: offered }).data?.data ?? [];
  const newest = useAnswer('explain', question, { enabled: chosen === null });
  const one = useAnswer('explain', { ...question, message_id: chosen ?? '' }, { enabled: chosen !== null });
  const names = new Map(messages.map((message) => [message.id, nameOf(message)]));
  return (
    <Card
      title={'device_id' in question ? 'Why did it get nothing?' : 'Why did they get nothing?'}
      actions={
        <Select
          aria-label="Message to explain"
          data={[
            { value: '', label: 'The newest messages' },
            ...messages.map(({ id }) => ({ value: id, label: names.get(id) ?? id })),
          ]}
          value={chosen ?? ''}
          onChange={setChosen}
          searchable
          w={260}
        />
      }
    >
      {chosen === null ? (
        <Loaded query={newest}>
          {({ messages: told = [] }) =>
            told.length === 0 ? (
              <Empty title="No message in the last 30 days">There is nothing that they could have received.</Empty>
            ) : (
              <ul style={{ listStyle: 'none', margin: 0, padding: 0 }}>
                {told.map((each) => (
                  <li key={each.message_id} className="explained">
                    <Status status={each.verdict} />
                    <div style={{ minWidth: 0 }}>
                      <Link to={paths.message(app, each.message_id)}>
                        {names.get(each.message_id) ?? each.message_id}
                      </Link>
                      <p className="muted" style={{ margin: 0 }}>
                        <LinkedText app={app} text={withLocalTimes(each.summary)} />
                      </p>
                    </div>
                    <Button size="compact-sm" variant="default" onClick={() => setChosen(each.message_id)}>
                      Step by step
                    </Button>
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      ) : (
        <Loaded query={one}>{(told) => <Walk app={app} name={names.get(chosen) ?? chosen} told={told} />}</Loaded>
      )}
    </Card>
  );
}

/** The objects that a summary may name: the user, and the segment and event of its condition. */
function namedIn(app: string, { external_id, steps = [] }: Explanation): NamedObject[] {
  return [
    ...(external_id === null ? [] : [{ name: external_id, to: paths.user(app, external_id) }]),
    ...steps.flatMap((step) => {
      if (step.step !== 'audience' && step.step !== 'excluded') return [];
      const { segment, event } = step.detail;
      return [
        ...(segment ? [{ name: segment.name, to: paths.segment(app, segment.id) }] : []),
        ...(event === undefined ? [] : [{ name: event, to: paths.event(app, event) }]),
      ];
    }),
  ];
}

function Walk({ app, name, told }: { app: string; name: string; told: Explanation }) {
  return (
    <>
      <p className="headline" style={{ marginBottom: 16 }}>
        {told.message_id !== null && (
          <>
            <Link to={paths.message(app, told.message_id)}>{name}</Link>:{' '}
          </>
        )}
        <Status status={told.verdict} />{' '}
        <LinkedText app={app} text={withLocalTimes(told.summary)} named={namedIn(app, told)} />
      </p>
      <ol className="steps">
        {(told.steps ?? []).map((step) => (
          <li className="step" key={step.step}>
            <Mark tone={step.ok ? 'good' : 'bad'} mark={step.ok ? 'done' : 'failed'} />
            <strong>{questions[step.step] ?? step.step}</strong> {step.ok ? 'Yes.' : 'No.'}
            <StepDetail app={app} step={step} />
          </li>
        ))}
      </ol>
      {told.devices.length > 0 && (
        <ul style={{ listStyle: 'none', margin: '16px 0 0', padding: 0, display: 'grid', gap: 8 }}>
          {told.devices.map(({ device_id, verdict, error_code, attempts }) => (
            <li key={device_id} style={{ display: 'flex', gap: 12, flexWrap: 'wrap', alignItems: 'center' }}>
              <Status status={verdict} />
              <Link
                className="mono"
                to={attempts > 0 ? paths.delivery(app, told.message_id ?? '', device_id) : paths.device(app, device_id)}
              >
                {device_id}
              </Link>
              <span className="muted">
                {error_code !== null ? codeTitle(error_code) : attempts > 0 ? count(attempts, 'attempt') : ''}
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
