// The credential of Android push: a service account of a Firebase project.
import { Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { call } from '../api/client.ts';
import { Form } from '../components/form.tsx';
import { useSave } from '../components/use-save.ts';
import type { ChannelFormProps } from './channel-form.ts';

export function FcmForm({ app, present, onSaved, onCancel }: ChannelFormProps) {
  const form = useForm({
    initialValues: { service_account_json: '' },
    validate: { service_account_json: (text) => (isJson(text) ? null : 'This is not JSON. Paste the whole file.') },
  });
  const updated_at = present?.created_at ?? null;
  const save = useSave({
    form,
    save: (values) => call('setAndroidPush', { app, body: { ...values, updated_at } }),
    onSaved,
  });
  return (
    <Form of={save} label={present ? 'Replace' : 'Set up Android push'} onCancel={onCancel}>
      <Textarea
        label="Service account"
        description="The JSON file that Firebase gives under Project settings, Service accounts. Its key is sealed and never shown again."
        placeholder='{ "type": "service_account", … }'
        required
        autosize
        minRows={8}
        maxRows={16}
        autoComplete="off"
        data-autofocus
        {...form.getInputProps('service_account_json')}
      />
    </Form>
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
