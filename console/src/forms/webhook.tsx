// The endpoint of a webhook and the events that it gets.
import { Checkbox, Stack, TextInput } from '@mantine/core';
import type { EventKind, Webhook } from '../api/objects.ts';
import { FormFoot } from '../components/form-foot.tsx';
import { useDraft } from '../components/use-draft.ts';
import { useSave } from '../components/use-save.ts';
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
  const draft = useDraft<Values>(`webhook ${webhook?.id ?? app}`, {
    initialValues: webhook ? valuesOf(webhook) : { endpoint: '', events: [] },
    ...(webhook && { seen: webhook.updated_at, read }),
  });
  const { form } = draft;
  const saving = useSave({
    form,
    save: (values) => save(values, draft.seen),
    onSaved: (answer) => {
      draft.forget();
      return onSaved(answer);
    },
  });
  return (
    <form onSubmit={form.onSubmit(saving.submit)}>
      <Stack>
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
        <FormFoot label={label} save={saving} draft={draft} onCancel={onCancel} />
      </Stack>
    </form>
  );
}

const valuesOf = ({ endpoint, events }: Webhook): Values => ({ endpoint, events });

function read(present: unknown) {
  const webhook = present as Webhook;
  return { values: valuesOf(webhook), seen: webhook.updated_at };
}
