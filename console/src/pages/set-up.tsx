// The first visit: the one-time link makes its holder the owner.
import { Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { call } from '../api/client.ts';
import { queryClient, useAnswer } from '../api/queries.ts';
import { ByOidc } from '../components/by-oidc.tsx';
import { Form } from '../components/form.tsx';
import { PersonFields, secretOfLink } from '../components/new-person.tsx';
import { useSave } from '../components/use-save.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { PageHead } from '../ui/page-head.tsx';

export function SetUp() {
  const navigate = useNavigate();
  const [secret] = useState(secretOfLink);
  const welcome = useAnswer('getWelcome', {}).data;
  const form = useForm({ initialValues: { organisation: '', name: '', email: '', password: '' } });
  const save = useSave({
    form,
    save: (values) => call('setUp', { body: { secret, ...values } }),
    onSaved: async () => {
      queryClient.clear();
      await navigate(paths.home, { replace: true });
    },
  });
  return (
    <div style={{ maxWidth: 480, margin: '8vh auto', padding: '0 16px' }}>
      <PageHead title="Set up Carillon" answer="You become the owner. You invite other people later, by links." />
      <Card>
        <Stack>
          {welcome?.oidc && <ByOidc provider={welcome.oidc} secret={secret} hasPassword={welcome.password} />}
          {welcome?.password !== false && (
            <Form of={save} label="Set up">
              <TextInput
                label="Organisation"
                description="Your company or project"
                required
                maxLength={128}
                {...form.getInputProps('organisation')}
              />
              <PersonFields form={form} />
            </Form>
          )}
        </Stack>
      </Card>
    </div>
  );
}
