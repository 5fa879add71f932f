// A new app. It comes with one key of each scope, which are shown once.
import { TextInput } from '@mantine/core';
import { useNavigate } from 'react-router';
import { call } from '../api/client.ts';
import { refresh } from '../api/queries.ts';
import { Form } from '../components/form.tsx';
import { showOnce } from '../components/secret-once.tsx';
import { useDraftSave } from '../components/use-save.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { PageHead } from '../ui/page-head.tsx';

export function NewApp() {
  const navigate = useNavigate();
  const making = useDraftSave('new-app', {
    initialValues: { name: '' },
    save: (body) => call('createApp', { body }),
    onSaved: async ({ id, name, server_key, client_key }) => {
      const isKept = showOnce({
        title: `The keys of ${name}`,
        text: 'This is the only time that these keys are shown. The server key may do everything; the client key goes into your site or app.',
        secrets: [
          ['Server key', server_key],
          ['Client key', client_key],
        ],
      });
      void isKept.then(() => navigate(paths.overview(id)));
      await refresh('listApps');
    },
  });
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
    </div>
  );
}
