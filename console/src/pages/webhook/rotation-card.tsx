// The signing secret, which is rotated in two steps.
import { Checkbox, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import type { Webhook } from '../../api/objects.ts';
import { toWallClock } from '../../components/compose/message-form.ts';
import { ConfirmButton } from '../../components/confirm.tsx';
import { showOnce } from '../../components/secret-once.tsx';
import { formatExact } from '../../format.ts';
import { Card } from '../../ui/card.tsx';
import { RelativeTime, useNow } from '../../ui/relative-time.tsx';
import { useReload } from './use-reload.ts';

/** The service's limit for a rotation that finishes by itself. */
const rotationDaysMax = 30;

/** An instant in the form of a date and time field. */
const toField = (ms: number): string => toWallClock(new Date(ms).toISOString(), false);

export function RotationCard({ app, webhook }: { app: string; webhook: Webhook }) {
  const reload = useReload(app, webhook);
  const nowMs = useNow();
  const { rotation } = webhook;
  // Null: like the waiting rotation, so that another secret changes nothing else.
  const [chosenDual, setDual] = useState<boolean | null>(null);
  const [chosenFinish, setFinishAt] = useState<string | null>(null);
  const isDual = chosenDual ?? rotation?.dual ?? false;
  // In the field's form, by the browser's clock. Empty: the rotation waits for a person.
  const finishAt = chosenFinish ?? (rotation?.finish_at ? toWallClock(rotation.finish_at, false) : '');
  const rotate = async () => {
    const { secret, rotation: made } = await call('rotateWebhookSecret', {
      webhook: webhook.id,
      body: {
        dual: isDual,
        ...(finishAt !== '' && { finish_at: new Date(finishAt).toISOString() }),
      },
    });
    const finishes = made?.finish_at ? `It finishes by itself on ${formatExact(made.finish_at)}. ` : '';
    void showOnce({
      title: 'The new signing secret',
      text: `Give it to your server beside the old one, then finish the rotation. ${finishes}The secret is shown only once.`,
      secrets: [['New secret', secret]],
    });
    await reload();
  };
  const reset = () => {
    setFinishAt(null);
    setDual(null);
  };
  return (
    <Card title="Signing secret">
      {rotation ? (
        <p style={{ margin: '0 0 12px' }}>
          A new secret waits since <RelativeTime at={rotation.created_at} />. Requests are signed{' '}
          {rotation.dual ? 'with both secrets' : 'with the old secret alone'} until you finish
          {rotation.finish_at !== null && (
            <>
              , or by itself <RelativeTime at={rotation.finish_at} />
            </>
          )}
          .
        </p>
      ) : (
        <p className="muted" style={{ margin: '0 0 12px' }}>
          Rotating takes two steps: the new secret is shown first, and signs only when you finish. Nothing breaks in
          between.
        </p>
      )}
      <div className="row-actions">
        {rotation && (
          <ConfirmButton
            label="Finish the rotation"
            title="Finish the rotation?"
            effect="From now on the new secret alone signs, and the old one is erased. Your server must know the new secret already."
            run={async () => reload(await call('finishWebhookRotation', { webhook: webhook.id }))}
          />
        )}
        <ConfirmButton
          label={rotation ? 'Make another secret' : 'Rotate'}
          title="Make a new signing secret?"
          act="Make the new secret"
          effect={
            <Stack gap="sm">
              <span>
                {rotation && 'It takes the place of the secret that waits now. '}
                {rotation?.dual && 'A server that accepts only that secret refuses requests from then on. '}
                The old secret goes on signing until you finish the rotation, or until the time below.
              </span>
              <TextInput
                type="datetime-local"
                label="Finish by itself at"
                description={`At most ${rotationDaysMax} days from now. Empty: only when you finish it`}
                min={toField(nowMs)}
                max={toField(nowMs + rotationDaysMax * 86_400_000)}
                value={finishAt}
                onChange={({ currentTarget }) => setFinishAt(currentTarget.value)}
              />
              <Checkbox
                label="Sign with both until then"
                description="For receivers that accept any signature of the header"
                checked={isDual}
                onChange={({ currentTarget }) => setDual(currentTarget.checked)}
              />
            </Stack>
          }
          run={rotate}
          onClose={reset}
        />
      </div>
    </Card>
  );
}
