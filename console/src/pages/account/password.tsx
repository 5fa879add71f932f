// The change of your own password.

import { PasswordInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { call } from '../../api/client.ts';
import { refresh } from '../../api/queries.ts';
import { Form } from '../../components/form.tsx';
import { useSave } from '../../components/use-save.ts';
import { Card } from '../../ui/card.tsx';

export function Password() {
  const form = useForm({ initialValues: { current: '', next: '' } });
  const save = useSave({
    form,
    save: (body) => call('changePassword', { body }),
    onSaved: async () => {
      form.reset();
      notifications.show({ message: 'The password is changed. Your other sessions have ended.' });
      await refresh('listSessions');
    },
  });
  return (
    <Card title="Password">
      <Form of={save} label="Change the password" maxWidth={440}>
        <PasswordInput
          label="Current password"
          autoComplete="current-password"
          required
          {...form.getInputProps('current')}
        />
        <PasswordInput
          label="New password"
          description="At least 8 characters"
          autoComplete="new-password"
          required
          minLength={8}
          {...form.getInputProps('next')}
        />
      </Form>
    </Card>
  );
}
