// From an empty app to the first click, step by step. Each step ticks itself off when the service
// sees it done; the first open step shows its code and waits for it live.
import { Anchor, Button, UnstyledButton } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { IconCircle, IconCircleCheck } from '@tabler/icons-react';
import { type ReactNode, useEffect } from 'react';
import { Link } from 'react-router';
import { useAnswer, whole } from '../api/queries.ts';
import { useMay } from '../api/session.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { CodeBlock } from '../ui/copy.tsx';
import { FirstDevice, FirstSend } from './first-code.tsx';
import { useIsLive } from './live-feed.tsx';
import { isGood } from './webhook-text.ts';

interface Step {
  readonly name: string;
  readonly isDone: boolean;
  readonly waitsFor: string;
  readonly how: ReactNode;
}

const lookEveryMs = 3000;
/** Clicks on old messages are rare, and this request costs the service more than others. */
const lookForClickEveryMs = 30_000;

export function SetupGuide({ app }: { app: string }) {
  const [isHidden, setHidden] = useLocalStorage({ key: `carillon-guide-${app}`, defaultValue: false });
  const { may } = useMay('channel.edit');
  const steps = useSteps(app, may);
  if (!may || steps === undefined) return null;
  const done = steps.filter(({ isDone }) => isDone).length;
  if (done === steps.length) return null;
  if (isHidden) {
    return (
      <UnstyledButton onClick={() => setHidden(false)} style={{ justifySelf: 'start', color: 'var(--accent)' }}>
        Show the set-up guide ({done} of {steps.length} done)
      </UnstyledButton>
    );
  }
  return (
    <Card
      title={`Set up: ${done} of ${steps.length} done`}
      actions={
        <Button variant="subtle" color="gray" size="compact-sm" onClick={() => setHidden(true)}>
          Hide
        </Button>
      }
    >
      {done > 0 && (
        <ul className="guide-done" aria-label="Done">
          {steps
            .filter(({ isDone }) => isDone)
            .map(({ name }) => (
              <li key={name}>
                <IconCircleCheck size={20} className="tone-good" aria-hidden /> {name}
              </li>
            ))}
        </ul>
      )}
      <ol aria-label="To do" style={{ listStyle: 'none', margin: 0, padding: 0 }}>
        {steps
          .filter(({ isDone }) => !isDone)
          .map(({ name, waitsFor, how }, index) => (
            <li key={name} className="guide-step">
              <IconCircle size={20} className="tone-idle" aria-hidden />
              <div style={{ minWidth: 0 }}>
                <strong style={{ fontWeight: index === 0 ? 600 : 400 }}>{name}</strong>
                {index === 0 && (
                  <div style={{ marginTop: 8, display: 'grid', gap: 8 }}>
                    {how}
                    <p className="muted" style={{ margin: 0 }} role="status">
                      <span className="dot tone-warn is-moving" aria-hidden="true" /> Waiting for {waitsFor}
                    </p>
                  </div>
                )}
              </div>
            </li>
          ))}
      </ol>
    </Card>
  );
}

/** The steps with their state; undefined until it is known. */
function useSteps(app: string, isWanted: boolean): readonly Step[] | undefined {
  const isLive = useIsLive();
  const look = { enabled: isWanted, refetchInterval: isLive ? false : lookEveryMs } as const;
  // The live feed has no devices and users, so these are requested until the first one exists.
  const untilFirst = (page: { readonly data: readonly unknown[] } | undefined) =>
    page && page.data.length > 0 ? false : lookEveryMs;
  const channels = useAnswer('listChannels', { app, ...whole }, look);
  const devices = useAnswer(
    'listDevices',
    { app, limit: 1 },
    { enabled: isWanted, refetchInterval: ({ state }) => untilFirst(state.data) },
  );
  const users = useAnswer(
    'listUsers',
    { app, limit: 1 },
    { enabled: isWanted, refetchInterval: ({ state }) => untilFirst(state.data) },
  );
  const messages = useAnswer('listMessages', { app, limit: 10 }, look);
  const webhooks = useAnswer('listWebhooks', { app, ...whole }, look);
  const sent = messages.data?.data ?? [];
  // The live feed updates the newest messages. Others are requested only if none of the newest was
  // clicked.
  const isNewestClicked = sent.some(({ engagement }) => engagement.clicked > 0);
  // The service reads only some messages, so this browser remembers a click that it has seen.
  const [wasClicked, setClicked] = useLocalStorage({
    key: `carillon-guide-clicked-${app}`,
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  const isOlderAsked = isWanted && sent.length > 0 && !isNewestClicked && !wasClicked;
  const older = useAnswer(
    'getFirstClick',
    { app },
    { enabled: isOlderAsked, refetchInterval: ({ state }) => (state.data?.seen ? false : lookForClickEveryMs) },
  );
  const isSeen = isNewestClicked || older.data?.seen === true;
  const isClicked = wasClicked || isSeen;
  useEffect(() => {
    if (isSeen) setClicked(true);
  }, [isSeen, setClicked]);
  if (!channels.data || !devices.data || !users.data || !messages.data || !webhooks.data) return undefined;
  // An error of this request does not hide the guide. The step then stays open.
  if (isOlderAsked && older.isPending) return undefined;
  return [
    {
      name: 'Configure a channel',
      isDone: channels.data.data.some(({ current }) => current),
      waitsFor: 'the first credential',
      how: (
        <p style={{ margin: 0 }}>
          Web push needs only a contact address.{' '}
          <Anchor component={Link} to={paths.channels(app)}>
            Set up a channel
          </Anchor>
        </p>
      ),
    },
    {
      name: 'Register the first device',
      isDone: devices.data.data.length > 0,
      waitsFor: 'the first device',
      how: <FirstDevice />,
    },
    {
      name: 'Connect the device to a user',
      isDone: users.data.data.length > 0,
      waitsFor: 'the first user',
      how: <CodeBlock label="The user of the device" code={"await carillon.identify('u-42', userToken);"} />,
    },
    { name: 'Send the first message', isDone: sent.length > 0, waitsFor: 'the first message', how: <FirstSend /> },
    {
      name: 'See the first click',
      isDone: isClicked,
      waitsFor: 'the first click',
      how: <p style={{ margin: 0 }}>Click the notification on the device. The SDK reports it by itself.</p>,
    },
    {
      name: 'Verify a webhook',
      isDone: webhooks.data.data.some(({ last_test }) => isGood(last_test)),
      waitsFor: 'a test that your endpoint answers',
      how: (
        <p style={{ margin: 0 }}>
          Outcomes and clicks are told to your server.{' '}
          <Anchor component={Link} to={paths.webhooks(app)}>
            Add a webhook and test it
          </Anchor>
        </p>
      ),
    },
  ];
}
