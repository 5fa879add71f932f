// The last step: the service's warnings about the message, and the button that sends it. For more
// than a thousand devices the person must type their number.
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconSend } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useRef, useState } from 'react';
import { call } from '../../api/client.ts';
import type { MessageAnswer } from '../../api/objects.ts';
import { count, countUsers, formatExact, formatNumber } from '../../format.ts';
import { Card } from '../../ui/card.tsx';
import { ProblemPanel } from '../problem.tsx';
import { isNamed, type MessageForm, requestOf } from './message-form.ts';
import { mintId } from './mint-id.ts';
import { hasText, type Tried } from './use-dry-run.ts';

const askedAbove = 1000;

interface SendProps {
  readonly app: string;
  readonly form: MessageForm;
  readonly tried: Tried;
  /** True: the number of devices beside the audience is not the present one. */
  readonly isCounting: boolean;
  readonly isScheduled: boolean;
  readonly onSent: (answer: MessageAnswer) => void;
}

export function Send({ app, form, tried, isCounting, isScheduled, onSent }: SendProps) {
  const [isAsking, asking] = useDisclosure(false);
  const key = useFormKey(form);
  const sending = useMutation({
    mutationFn: () => call('sendMessage', { app, body: requestOf(form) }, { idempotencyKey: key() }),
    onSuccess: (answer) => {
      asking.close();
      onSent(answer);
    },
  });
  const { answer } = tried;
  const isMoving = tried.isMoving || isCounting;
  const devices = answer?.count ?? 0;
  const isTimed = isScheduled && Boolean(form.send_at);
  const obstacle = obstacleOf(form, tried, isScheduled);
  // The obstacle is shown once, at the button and not among the warnings.
  const warnings = (answer?.warnings ?? []).filter(({ message }) => message !== obstacle);
  const label = obstacle === null ? labelOf(devices, isScheduled) : isScheduled ? 'Schedule' : 'Send';
  return (
    <Card title="Send">
      <Stack gap="sm">
        <p style={{ margin: 0 }} role="status" aria-live="polite">
          {isMoving && answer === undefined && hasText(form) && isNamed(form.audience) ? (
            'Counting the devices…'
          ) : obstacle !== null ? (
            obstacle
          ) : (
            <>
              {isTimed ? `Goes out ${timeOf(form)}` : 'Goes out at once'} to {count(devices, 'device')} of{' '}
              {countUsers(answer ?? { users: 0 })}.
            </>
          )}
        </p>
        {warnings.length > 0 && (
          <ul className="compose-warnings" aria-label="Warnings">
            {warnings.map(({ code, channel, message }) => (
              <li key={`${code} ${channel ?? ''}`}>{message}</li>
            ))}
          </ul>
        )}
        {sending.error !== null && <ProblemPanel error={sending.error} />}
        <Button
          size="md"
          fullWidth
          leftSection={<IconSend size={18} aria-hidden />}
          loading={sending.isPending}
          disabled={obstacle !== null || isMoving}
          onClick={() => (devices > askedAbove ? asking.open() : sending.mutate())}
        >
          {isCounting && obstacle === null ? 'Counting the devices…' : label}
        </Button>
      </Stack>
      <Modal opened={isAsking} onClose={asking.close} title={`${label}?`}>
        <TypeNumber
          devices={devices}
          label={label}
          isBusy={sending.isPending}
          onSend={() => sending.mutate()}
          onCancel={asking.close}
        />
      </Modal>
    </Card>
  );
}

interface TypeNumberProps {
  readonly devices: number;
  readonly label: string;
  readonly isBusy: boolean;
  readonly onSend: () => void;
  readonly onCancel: () => void;
}

function TypeNumber({ devices, label, isBusy, onSend, onCancel }: TypeNumberProps) {
  const [text, setText] = useState('');
  // People type the number with or without its separators.
  const isTyped = text.replaceAll(/[^0-9]/g, '') === String(devices);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isTyped) onSend();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <span>This rings {count(devices, 'device')}. What is sent cannot be called back.</span>
        <TextInput
          label={`Type ${formatNumber(devices)} to go on`}
          inputMode="numeric"
          autoComplete="off"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          data-autofocus
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Keep composing
          </Button>
          <Button type="submit" disabled={!isTyped} loading={isBusy}>
            {label}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function labelOf(devices: number, isScheduled: boolean): string {
  return `${isScheduled ? 'Schedule for' : 'Send to'} ${count(devices, 'device')}`;
}

function timeOf(form: MessageForm): string {
  const at = form.send_at ?? '';
  return form.local_time ? `on ${at.slice(0, 10)} at ${at.slice(11, 16)} on each person's clock` : formatExact(at);
}

/** The reason why the message cannot be sent yet; null: it can. */
function obstacleOf(form: MessageForm, { answer, problem, issues }: Tried, isScheduled: boolean): string | null {
  if (isScheduled && !form.send_at) return 'Choose a date and time.';
  if (issues.length > 0) return issues.map(({ message }) => message).join(' ');
  if (problem) return problem.message;
  if (!hasText(form)) return 'Type a title or a body.';
  if (!answer) return 'Choose an audience.';
  if (answer.count === 0) return 'Nobody is in this audience now.';
  const slow = answer.warnings.find(({ code }) => code === 'rate_too_low');
  if (slow) return slow.message;
  if (answer.quota && !answer.quota.fits && !isScheduled) return 'The quota of this month does not suffice.';
  return null;
}

/**
 * One key for one content of the form: a second click, or a repeat after a lost answer, sends
 * nothing twice. A changed form is another message.
 */
function useFormKey(form: MessageForm): () => string {
  const kept = useRef({ text: '', key: '' });
  return () => {
    const text = JSON.stringify(requestOf(form));
    if (kept.current.text !== text) kept.current = { text, key: mintId('console') };
    return kept.current.key;
  };
}
