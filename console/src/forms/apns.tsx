// The credential of Apple push: a signing key with its ids.
import { Select, SimpleGrid, Textarea, TextInput } from '@mantine/core';
import { call } from '../api/client.ts';
import type { ApplePushCredential, Credential } from '../api/objects.ts';
import { Form } from '../components/form.tsx';
import { useDraftSave } from '../components/use-save.ts';
import { type ChannelFormProps, seenOf } from './channel-form.ts';

type Values = Required<Omit<ApplePushCredential, 'updated_at'>> & { environment: 'production' | 'sandbox' };
const empty: Values = { p8: '', key_id: '', team_id: '', bundle_id: '', environment: 'production' };

export function ApnsForm({ app, present, onSaved, onCancel }: ChannelFormProps) {
  const edit = useDraftSave<Values, unknown>(`apns ${app}`, {
    initialValues: empty,
    secret: ['p8'],
    seen: present?.created_at ?? '',
    read: (other) => {
      const { created_at, public: known } = other as Credential;
      const { key_id = '', team_id = '', bundle_id = '', environment } = known;
      const isSandbox = environment === 'sandbox';
      return {
        values: { p8: '', key_id, team_id, bundle_id, environment: isSandbox ? 'sandbox' : 'production' },
        seen: created_at,
      };
    },
    save: (values, { seen }) => call('setApplePush', { app, body: { ...values, updated_at: seenOf(seen) } }),
    onSaved,
  });
  const { form } = edit;
  return (
    <Form of={edit} label={present ? 'Replace' : 'Set up Apple push'} onCancel={onCancel}>
      <Textarea
        label="Signing key"
        description="The text of the .p8 file. It is sealed and never shown again."
        placeholder="-----BEGIN PRIVATE KEY-----"
        required
        autosize
        minRows={4}
        autoComplete="off"
        {...form.getInputProps('p8')}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput label="Key id" placeholder="ABC123DEFG" required {...form.getInputProps('key_id')} />
        <TextInput label="Team id" placeholder="DEF123GHIJ" required {...form.getInputProps('team_id')} />
      </SimpleGrid>
      <TextInput label="Bundle id" placeholder="com.example.shop" required {...form.getInputProps('bundle_id')} />
      <Select
        label="Environment"
        description="Builds from Xcode have tokens of the sandbox"
        data={[
          { value: 'production', label: 'Production' },
          { value: 'sandbox', label: 'Sandbox' },
        ]}
        {...form.getInputProps('environment')}
      />
    </Form>
  );
}
