// The events that client keys, which anybody can read, may track.
import { Stack, Switch } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { call } from '../api/client.ts';
import type { App } from '../api/objects.ts';
import { queryClient, queryOf } from '../api/queries.ts';
import { useApp, useMay } from '../api/session.ts';
import { FormFoot } from '../components/form-foot.tsx';
import { LeaveGuard } from '../components/leave-guard.tsx';
import { NotAllowed } from '../components/not-allowed.tsx';
import { useDraft } from '../components/use-draft.ts';
import { useSave } from '../components/use-save.ts';
import { Card } from '../ui/card.tsx';

export function ClientEvents() {
  const app = useApp();
  const { may, reason } = useMay('app.edit');
  if (!may) return <NotAllowed what="Client events" reason={reason} isPart />;
  return <Form app={app} />;
}

function Form({ app }: { app: App }) {
  const draft = useDraft(`client-events ${app.id}`, { initialValues: valuesOf(app), seen: app.updated_at, read });
  const { form, seen } = draft;
  const save = useSave({
    form,
    save: (client_events) => call('editApp', { app: app.id, body: { updated_at: seen, client_events } }),
    onSaved: (after) => {
      draft.settle(after.updated_at);
      queryClient.setQueryData(queryOf('getApp', { app: app.id }).queryKey, after);
      notifications.show({ message: 'Saved. It holds within two seconds.' });
    },
  });
  return (
    <Card title="Client events">
      <p className="muted" style={{ margin: '0 0 16px' }}>
        Anybody can read the client key in your site or app. Decide which of its events you trust.
      </p>
      <LeaveGuard isDirty={form.isDirty()} />
      <form onSubmit={form.onSubmit(save.submit)} style={{ maxWidth: 560 }}>
        <Stack>
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
          <FormFoot label="Save" save={save} isDisabled={!form.isDirty()} draft={draft} />
        </Stack>
      </form>
    </Card>
  );
}

const valuesOf = ({ client_events: { new_names, purchases } }: App) => ({ new_names, purchases });

function read(present: unknown) {
  const app = present as App;
  return { values: valuesOf(app), seen: app.updated_at };
}
