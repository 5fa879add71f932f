// An invitation: who invites, to which role, and the account that accepts.
import { Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { call } from '../api/client.ts';
import type { Link } from '../api/objects.ts';
import { queryClient, useAnswer } from '../api/queries.ts';
import { ByOidc } from '../components/by-oidc.tsx';
import { Form } from '../components/form.tsx';
import { Loaded } from '../components/loaded.tsx';
import { PersonFields, secretOfLink } from '../components/new-person.tsx';
import { useSave } from '../components/use-save.ts';
import { formatExact } from '../format.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { PageHead } from '../ui/page-head.tsx';

export function AcceptInvite() {
  const [secret] = useState(secretOfLink);
  const link = useAnswer('getLink', { body: { secret } });
  return (
    <div style={{ maxWidth: 480, margin: '8vh auto', padding: '0 16px' }}>
      <Loaded query={link}>{(data) => <Join secret={secret} invitation={data} />}</Loaded>
    </div>
  );
}

function Join({ secret, invitation }: { secret: string; invitation: Link }) {
  const navigate = useNavigate();
  const welcome = useAnswer('getWelcome', {}).data;
  const form = useForm({ initialValues: { name: '', email: invitation.email ?? '', password: '' } });
  const save = useSave({
    form,
    save: ({ email, ...values }) =>
      call('acceptInvite', { body: { secret, ...values, ...(email !== '' && { email }) } }),
    onSaved: async () => {
      queryClient.clear();
      await navigate(paths.home, { replace: true });
    },
  });
  return (
    <>
      <PageHead
        title={`Join ${invitation.organisation ?? 'the organisation'}`}
        answer={`Your role is ${invitation.role ?? 'viewer'}. The invitation works once${invitation.expires_at === null ? '' : `, until ${formatExact(invitation.expires_at)}`}.`}
      />
      <Card>
        <Stack>
          {welcome?.oidc && <ByOidc provider={welcome.oidc} secret={secret} hasPassword={welcome.password} />}
          {welcome?.password !== false && (
            <Form of={save} label="Join">
              <PersonFields form={form} email={invitation.email} />
            </Form>
          )}
        </Stack>
      </Card>
    </>
  );
}
