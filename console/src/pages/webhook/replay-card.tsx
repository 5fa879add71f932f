// Sends the events of a time range again.
import { Checkbox, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { webhookCan } from '../../api/can.ts';
import { call } from '../../api/client.ts';
import type { EventKind, Webhook } from '../../api/objects.ts';
import { FormFoot } from '../../components/form.tsx';
import { useSave } from '../../components/use-save.ts';
import { webhookEvents } from '../../components/webhook-text.ts';
import { count } from '../../format.ts';
import { Card } from '../../ui/card.tsx';

type ReplayValues = { from: string; to: string; events: readonly EventKind[] };

export function ReplayCard({ webhook }: { webhook: Webhook }) {
  const form = useForm<ReplayValues>({ initialValues: { from: '', to: '', events: [] } });
  // The service refuses a kind to which the webhook is not subscribed.
  const kinds = webhookEvents.filter(([event]) => webhook.events.length === 0 || webhook.events.includes(event));
  const save = useSave({
    form,
    save: ({ from, to, events }) =>
      call('replayWebhook', {
        webhook: webhook.id,
        body: {
          from: new Date(from).toISOString(),
          to: new Date(to).toISOString(),
          // A kind that was chosen before the webhook was edited may have no box any more.
          events: events.filter((event) => kinds.some(([kind]) => kind === event)),
        },
      }),
    onSaved: ({ queued, queued_before, complete }) =>
      notifications.show({
        message: `${count(queued, 'event')} queued${queued_before > 0 ? `, ${count(queued_before, 'event')} before` : ''}${complete ? '' : '; the rest follows when you replay again'}.`,
      }),
  });
  return (
    <Card title="Replay">
      <p className="muted" style={{ margin: '0 0 12px' }}>
        Sends the events of a time range again, also those that were delivered. Each has the header{' '}
        <span className="mono">service-replay</span>.
      </p>
      <form onSubmit={form.onSubmit(save.submit)} style={{ maxWidth: 560, display: 'grid', gap: 12 }}>
        <div style={{ display: 'flex', flexWrap: 'wrap', gap: 12, alignItems: 'start' }}>
          <TextInput label="From" type="datetime-local" step={1} required {...form.getInputProps('from')} />
          <TextInput label="To" type="datetime-local" step={1} required {...form.getInputProps('to')} />
        </div>
        {kinds.length > 1 && (
          <Checkbox.Group
            label="Events to replay"
            description="None chosen: all that the webhook hears"
            {...form.getInputProps('events')}
          >
            <Stack gap="xs" mt="xs">
              {kinds.map(([event, text]) => (
                <Checkbox key={event} value={event} label={text} />
              ))}
            </Stack>
          </Checkbox.Group>
        )}
        <FormFoot of={save} label="Replay" isDisabled={!webhookCan(webhook.state, 'replay')} />
      </form>
    </Card>
  );
}
