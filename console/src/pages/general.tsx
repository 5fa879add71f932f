// The name and the rules of an app.
import { NumberInput, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { call } from '../api/client.ts';
import type { App } from '../api/objects.ts';
import { queryClient, queryOf, refresh } from '../api/queries.ts';
import { useApp } from '../api/session.ts';
import { Form } from '../components/form.tsx';
import { LeaveGuard } from '../components/leave-guard.tsx';
import { editing } from '../components/use-draft.ts';
import { useDraftSave } from '../components/use-save.ts';
import { Card } from '../ui/card.tsx';
import { CopyableId } from '../ui/copy.tsx';

export function General() {
  const app = useApp();
  const edit = useDraftSave(`general ${app.id}`, {
    ...editing(app, valuesOf),
    save: ({ default_url, ...values }, { seen }) =>
      call('editApp', { app: app.id, body: { updated_at: seen, ...values, default_url: default_url || null } }),
    stays: true,
    onSaved: async (after) => {
      queryClient.setQueryData(queryOf('getApp', { app: app.id }).queryKey, after);
      notifications.show({ message: 'Saved.' });
      await refresh('listApps');
    },
  });
  const { form } = edit;
  return (
    <Card title="General">
      <LeaveGuard isDirty={form.isDirty()} />
      <Form of={edit} label="Save" isDisabled={!form.isDirty()} maxWidth={560}>
        <div>
          <span className="muted">Id</span> <CopyableId id={app.id} />
        </div>
        <TextInput label="Name" required maxLength={128} {...form.getInputProps('name')} />
        <TextInput
          label="Default address"
          description="Opens when a web push without an address of its own is clicked"
          placeholder="https://shop.example"
          {...form.getInputProps('default_url')}
        />
        <NumberInput
          label="Attribution window in hours"
          description="How long after a click a purchase is credited to the message"
          min={1}
          max={720}
          {...form.getInputProps('attribution_window_hours')}
        />
      </Form>
    </Card>
  );
}

function valuesOf({ name, default_url, attribution_window_hours }: App) {
  return { name, default_url: default_url ?? '', attribution_window_hours };
}
