// The endpoint of a webhook and the events that it gets.
import { Checkbox, Stack, TextInput } from '@mantine/core';
import type { EventKind, Webhook } from '../api/objects.ts';
import { Form } from '../components/form.tsx';
import { editing } from '../components/use-draft.ts';
import { useDraftSave } from '../components/use-save.ts';
import { webhookEvents } from '../components/webhook-text.ts';

type Values = { endpoint: string; events: readonly EventKind[] };

interface WebhookFormProps<Answer> {
  /** The webhook that is edited; undefined: a new webhook of the app. */
  readonly webhook?: Webhook;
  readonly app: string;
  readonly label: string;
  readonly save: (values: Values, seen: string) => Promise<Answer>;
  readonly onSaved: (answer: Answer) => unknown;
  readonly onCancel: () => void;
}

export function WebhookForm<Answer>({ webhook, app, label, save, onSaved, onCancel }: WebhookFormProps<Answer>) {
  const edit = useDraftSave<Values, Answer>(`webhook ${webhook?.id ?? app}`, {
    ...(webhook ? editing(webhook, valuesOf) : { initialValues: { endpoint: '', events: [] } }),
    save: (values, { seen }) => save(values, seen),
    onSaved,
  });
  const { form } = edit;
  return (
    <Form of={edit} label={label} onCancel={onCancel}>
      <TextInput
        label="Endpoint"
        description="An https address of your server, on port 443 or 8443"
        placeholder="https://hooks.shop.example/push"
        required
        data-autofocus
        {...form.getInputProps('endpoint')}
      />
      <Checkbox.Group
        label="Events"
        description="Choose none to get all of them, also kinds that come later"
        {...form.getInputProps('events')}
      >
        <Stack gap="xs" mt="xs">
          {webhookEvents.map(([event, text]) => (
            <Checkbox key={event} value={event} label={text} />
          ))}
        </Stack>
      </Checkbox.Group>
    </Form>
  );
}

const valuesOf = ({ endpoint, events }: Webhook): Values => ({ endpoint, events });
