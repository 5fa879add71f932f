// A new app. It comes with one key of each scope, which are shown once.
import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { call } from '../api/client.ts';
import type { MadeApp } from '../api/objects.ts';
import { refresh } from '../api/queries.ts';
import { useMay } from '../api/session.ts';
import { Form } from '../components/form.tsx';
import { NotAllowed } from '../components/not-allowed.tsx';
import { SecretOnce } from '../components/secret-once.tsx';
import { useDraftSave } from '../components/use-save.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { PageHead } from '../ui/page-head.tsx';

export function NewApp() {
  const navigate = useNavigate();
  const { may, reason } = useMay('app.create');
  const [made, setMade] = useState<MadeApp | null>(null);
  const making = useDraftSave('new-app', {
    initialValues: { name: '' },
    save: (body) => call('createApp', { body }),
    onSaved: async (app: MadeApp) => {
      setMade(app);
      await refresh('listApps');
    },
  });
  if (!may) return <NotAllowed what="New app" reason={reason} />;
  return (
    <div style={{ maxWidth: 560 }}>
      <PageHead title="New app" answer="Make one app for each product that sends, and one to try things out." />
      <Card>
        <Form of={making} label="Make the app" onCancel={() => void navigate(paths.home)}>
          <TextInput
            label="Name"
            placeholder="Shop"
            required
            maxLength={128}
            data-autofocus
            {...making.form.getInputProps('name')}
          />
        </Form>
      </Card>
      <SecretOnce
        title={`The keys of ${made?.name ?? ''}`}
        text="This is the only time that these keys are shown. The server key may do everything; the client key goes into your site or app."
        secrets={
          made && [
            ['Server key', made.server_key],
            ['Client key', made.client_key],
          ]
        }
        onClose={() => void navigate(made ? paths.overview(made.id) : paths.home)}
      />
    </div>
  );
}
