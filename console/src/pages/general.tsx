// The name and the rules of an app.
import { NumberInput, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { call } from '../api/client.ts';
import type { App } from '../api/objects.ts';
import { queryClient, queryOf, refresh } from '../api/queries.ts';
import { useApp, useMay } from '../api/session.ts';
import { FormFoot } from '../components/form-foot.tsx';
import { LeaveGuard } from '../components/leave-guard.tsx';
import { NotAllowed } from '../components/not-allowed.tsx';
import { useDraft } from '../components/use-draft.ts';
import { useSave } from '../components/use-save.ts';
import { Card } from '../ui/card.tsx';
import { CopyableId } from '../ui/copy.tsx';

export function General() {
  const app = useApp();
  const { may, reason } = useMay('app.edit');
  if (!may) return <NotAllowed what="General" reason={reason} isPart />;
  return <Form app={app} />;
}

function Form({ app }: { app: App }) {
  const draft = useDraft(`general ${app.id}`, { initialValues: valuesOf(app), seen: app.updated_at, read });
  const { form, seen } = draft;
  const save = useSave({
    form,
    save: ({ default_url, ...values }) =>
      call('editApp', { app: app.id, body: { updated_at: seen, ...values, default_url: default_url || null } }),
    onSaved: async (after) => {
      draft.settle(after.updated_at);
      queryClient.setQueryData(queryOf('getApp', { app: app.id }).queryKey, after);
      notifications.show({ message: 'Saved.' });
      await refresh('listApps');
    },
  });
  return (
    <Card title="General">
      <LeaveGuard isDirty={form.isDirty()} />
      <form onSubmit={form.onSubmit(save.submit)} style={{ maxWidth: 560 }}>
        <Stack>
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
          <FormFoot label="Save" save={save} isDisabled={!form.isDirty()} draft={draft} />
        </Stack>
      </form>
    </Card>
  );
}

function valuesOf({ name, default_url, attribution_window_hours }: App) {
  return { name, default_url: default_url ?? '', attribution_window_hours };
}

function read(present: unknown) {
  const app = present as App;
  return { values: valuesOf(app), seen: app.updated_at };
}
