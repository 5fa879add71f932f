// The form of a device: locale, time zone, environment, and its own properties.
import { Select, TextInput } from '@mantine/core';
import { call } from '../api/client.ts';
import type { Device, EditedDevice } from '../api/objects.ts';
import { deviceEditOf, deviceValuesOf } from '../components/device-values.ts';
import { Form } from '../components/form.tsx';
import { editing } from '../components/use-draft.ts';
import { useEditForm } from '../components/use-edit-form.ts';
import { OwnProperties, TimeZoneSelect } from './user.tsx';

interface DeviceFormProps {
  readonly app: string;
  readonly device: Device;
  readonly onSaved: (device: EditedDevice) => unknown;
  readonly onCancel: () => void;
}

export function DeviceForm({ app, device, onSaved, onCancel }: DeviceFormProps) {
  const edit = useEditForm({
    app,
    name: `device ${app} ${device.id}`,
    ...editing(device, deviceValuesOf),
    send: (base, values, seen) => call('editDevice', { app, id: device.id, body: deviceEditOf(base, values, seen) }),
    onSaved,
  });
  const { form } = edit;
  return (
    <Form of={edit} label="Save" onCancel={onCancel} isDisabled={!form.isDirty()}>
      <p className="muted" style={{ margin: 0 }}>
        A fact that the device reports when it registers again takes the place of yours.
      </p>
      <TextInput
        label="Locale"
        description="Language and region, such as de-DE; it chooses the language where the user has none"
        maxLength={35}
        data-autofocus
        {...form.getInputProps('locale')}
      />
      <TimeZoneSelect form={form} description="Sends at a local time follow it. Not known: they follow the user's" />
      {device.platform === 'ios' && (
        <Select
          label="Environment"
          description="Where Apple knows the token; without one both are tried"
          placeholder="Not known"
          clearable
          data={[
            { value: 'production', label: 'Production' },
            { value: 'sandbox', label: 'Sandbox' },
          ]}
          {...form.getInputProps('environment')}
          value={String(form.values['environment'] ?? '') || null}
          onChange={(value) => form.setFieldValue('environment', value ?? '')}
        />
      )}
      <OwnProperties app={app} edit={edit} />
    </Form>
  );
}
