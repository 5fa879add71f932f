// The form of the first step: e-mail address and password.

import { PasswordInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { call } from '../../api/client.ts';
import type { Entered } from '../../api/objects.ts';
import { Form } from '../../components/form.tsx';
import { useSave } from '../../components/use-save.ts';

export function Password({ onDone }: { onDone: (answer: Entered) => unknown }) {
  const form = useForm({ initialValues: { email: '', password: '' } });
  const save = useSave({ form, save: (body) => call('signIn', { body }), onSaved: onDone });
  return (
    <Form
      of={save}
      label="Sign in"
      isWide
      below={
        <p className="muted" style={{ margin: 0, fontSize: 13 }}>
          Lost your password? The operator of this service makes a reset link with{' '}
          <span className="mono">./carillon owner reset-password</span>.
        </p>
      }
    >
      <TextInput
        label="E-mail"
        type="email"
        autoComplete="username"
        required
        data-autofocus
        {...form.getInputProps('email')}
      />
      <PasswordInput
        label="Password"
        autoComplete="current-password"
        required
        visibilityToggleButtonProps={{ 'aria-label': 'Show the password' }}
        {...form.getInputProps('password')}
      />
    </Form>
  );
}
