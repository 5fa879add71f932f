// A new password, by a link that the operator made.
import { PasswordInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { call } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { Form } from '../components/form.tsx';
import { secretOfLink } from '../components/new-person.tsx';
import { useSave } from '../components/use-save.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { PageHead } from '../ui/page-head.tsx';

export function ResetPassword() {
  const navigate = useNavigate();
  const [secret] = useState(secretOfLink);
  const form = useForm({ initialValues: { password: '' } });
  const save = useSave({
    form,
    save: ({ password }) => call('resetPassword', { body: { secret, password } }),
    onSaved: async ({ next }) => {
      queryClient.clear();
      notifications.show({ message: 'The password is changed. All other sessions have ended.' });
      await navigate(next === 'signed_in' ? paths.home : paths.signIn, { replace: true });
    },
  });
  return (
    <div style={{ maxWidth: 480, margin: '8vh auto', padding: '0 16px' }}>
      <PageHead title="New password" answer="Your other sessions end. A second factor stays as it is." />
      <Card>
        <Form of={save} label="Change the password">
          <PasswordInput
            label="New password"
            description="At least 8 characters"
            autoComplete="new-password"
            required
            minLength={8}
            data-autofocus
            visibilityToggleButtonProps={{ 'aria-label': 'Show the password' }}
            {...form.getInputProps('password')}
          />
        </Form>
      </Card>
    </div>
  );
}
