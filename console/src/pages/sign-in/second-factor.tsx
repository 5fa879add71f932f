// The form of the second step: a code of the app, or a recovery code.

import { Anchor, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import type { Entered } from '../../api/objects.ts';
import { Form } from '../../components/form.tsx';
import { useSave } from '../../components/use-save.ts';

interface SecondFactorProps {
  readonly onDone: (answer: Entered) => unknown;
  readonly onBack: () => void;
}

export function SecondFactor({ onDone, onBack }: SecondFactorProps) {
  const [isRecovery, setRecovery] = useState(false);
  const form = useForm({ initialValues: { code: '' } });
  const save = useSave({
    form,
    save: ({ code }) =>
      call('signInSecondFactor', { body: { code: code.replaceAll(' ', ''), is_recovery: isRecovery } }),
    onSaved: onDone,
  });
  return (
    <Form
      of={save}
      label="Go on"
      onCancel={onBack}
      below={
        <Anchor component="button" type="button" onClick={() => setRecovery(!isRecovery)}>
          {isRecovery ? 'Use the authenticator app' : 'Use a recovery code'}
        </Anchor>
      }
    >
      {isRecovery ? (
        <TextInput
          label="Recovery code"
          description="Each code works once"
          required
          data-autofocus
          autoComplete="off"
          {...form.getInputProps('code')}
        />
      ) : (
        <TextInput
          label="Code"
          description="The six digits that your authenticator app shows"
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          data-autofocus
          {...form.getInputProps('code')}
        />
      )}
    </Form>
  );
}
