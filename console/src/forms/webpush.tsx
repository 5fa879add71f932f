// The credential of web push: a key pair that Carillon makes, or an existing one.
import { Alert, SegmentedControl, Textarea, TextInput } from '@mantine/core';
import { call } from '../api/client.ts';
import type { Credential } from '../api/objects.ts';
import { Form } from '../components/form.tsx';
import { useDraftSave } from '../components/use-save.ts';
import { type ChannelFormProps, seenOf } from './channel-form.ts';

const empty = { subject: '', how: 'generate', public_key: '', private_key: '' };

export function WebpushForm({ app, present, onSaved, onCancel }: ChannelFormProps) {
  const edit = useDraftSave(`webpush ${app}`, {
    initialValues: empty,
    secret: ['private_key'],
    seen: present?.created_at ?? '',
    read: (other) => {
      const { created_at, public: known } = other as Credential;
      return { values: { ...empty, subject: known['subject'] ?? '' }, seen: created_at };
    },
    save: ({ subject, how, public_key, private_key }, { seen }) =>
      call('setWebPush', {
        app,
        body: {
          subject,
          updated_at: seenOf(seen),
          ...(how === 'import' && { public_key: public_key.trim(), private_key: private_key.trim() }),
        },
      }),
    onSaved,
  });
  const { form } = edit;
  return (
    <Form of={edit} label={present ? 'Replace' : 'Set up web push'} onCancel={onCancel}>
      {present && (
        <Alert color="yellow" title="Browsers that subscribed keep their key">
          The former key stays usable for them. New subscriptions use the new one.
        </Alert>
      )}
      <TextInput
        label="Contact"
        description="Push services write there when something is wrong with what you send"
        placeholder="mailto:push@shop.example"
        required
        data-autofocus
        {...form.getInputProps('subject')}
      />
      <SegmentedControl
        aria-label="Keys"
        data={[
          { value: 'generate', label: 'Make new keys' },
          { value: 'import', label: 'Bring my keys' },
        ]}
        {...form.getInputProps('how')}
      />
      {form.values.how === 'import' && (
        <>
          <TextInput label="VAPID public key" required {...form.getInputProps('public_key')} />
          <Textarea label="VAPID private key" required autoComplete="off" {...form.getInputProps('private_key')} />
        </>
      )}
    </Form>
  );
}
