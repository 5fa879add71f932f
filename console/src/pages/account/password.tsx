// The change of your own password.

import { PasswordInput, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { call } from '../../api/client.ts';
import { refresh } from '../../api/queries.ts';
import { FormFoot } from '../../components/form-foot.tsx';
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
      <form onSubmit={form.onSubmit(save.submit)} style={{ maxWidth: 440 }}>
        <Stack>
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
          <FormFoot label="Change the password" save={save} />
        </Stack>
      </form>
    </Card>
  );
}
