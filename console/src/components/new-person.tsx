// The fields of somebody who is new here.
import { PasswordInput, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';

export interface PersonValues {
  readonly name: string;
  readonly email: string;
  readonly password: string;
}

export function PersonFields<Values extends PersonValues>({
  form,
  email,
}: {
  form: UseFormReturnType<Values>;
  email?: string | null;
}) {
  return (
    <>
      <TextInput
        label="Your name"
        autoComplete="name"
        required
        maxLength={128}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <TextInput
        label="E-mail"
        type="email"
        autoComplete="username"
        required
        readOnly={Boolean(email)}
        description={email ? 'The invitation is for this address' : undefined}
        {...form.getInputProps('email')}
      />
      <PasswordInput
        label="Password"
        description="At least 8 characters"
        autoComplete="new-password"
        required
        minLength={8}
        visibilityToggleButtonProps={{ 'aria-label': 'Show the password' }}
        {...form.getInputProps('password')}
      />
    </>
  );
}

/** The secret of a link follows `#`, so that no server log contains it. */
export function secretOfLink(): string {
  return window.location.hash.slice(1);
}
