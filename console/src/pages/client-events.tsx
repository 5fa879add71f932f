// The events that client keys, which anybody can read, may track.
import { Switch } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { call } from '../api/client.ts';
import type { App } from '../api/objects.ts';
import { queryClient, queryOf } from '../api/queries.ts';
import { useApp } from '../api/session.ts';
import { Form } from '../components/form.tsx';
import { LeaveGuard } from '../components/leave-guard.tsx';
import { editing } from '../components/use-draft.ts';
import { useDraftSave } from '../components/use-save.ts';
import { Card } from '../ui/card.tsx';

export function ClientEvents() {
  const app = useApp();
  const edit = useDraftSave(`client-events ${app.id}`, {
    ...editing(app, valuesOf),
    save: (client_events, { seen }) => call('editApp', { app: app.id, body: { updated_at: seen, client_events } }),
    stays: true,
    onSaved: (after) => {
      queryClient.setQueryData(queryOf('getApp', { app: app.id }).queryKey, after);
      notifications.show({ message: 'Saved. It holds within two seconds.' });
    },
  });
  const { form } = edit;
  return (
    <Card title="Client events">
      <p className="muted" style={{ margin: '0 0 16px' }}>
        Anybody can read the client key in your site or app. Decide which of its events you trust.
      </p>
      <LeaveGuard isDirty={form.isDirty()} />
      <Form of={edit} label="Save" isDisabled={!form.isDirty()} maxWidth={560}>
        <Switch
          label="Client keys may track event names that the app does not have yet"
          description="Off: clients may send only names that your server has tracked before."
          {...form.getInputProps('new_names', { type: 'checkbox' })}
        />
        <Switch
          label="Client keys may track purchases"
          description="Off: only your server reports revenue, so nobody else can invent it."
          {...form.getInputProps('purchases', { type: 'checkbox' })}
        />
      </Form>
    </Card>
  );
}

const valuesOf = ({ client_events: { new_names, purchases } }: App) => ({ new_names, purchases });
