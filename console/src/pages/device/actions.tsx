// Edits, tests and opts out a device.
import { notifications } from '@mantine/notifications';
import { deviceCan } from '../../api/can.ts';
import { call } from '../../api/client.ts';
import type { Device } from '../../api/objects.ts';
import { queryClient, queryOf, refresh } from '../../api/queries.ts';
import { useMay } from '../../api/session.ts';
import { ConfirmButton } from '../../components/confirm.tsx';
import { tellSaved } from '../../components/saved-text.ts';
import { DeviceForm } from '../../forms/device.tsx';
import { Dialog } from '../../ui/dialog.tsx';

/** The time from which an edit has an effect. */
function tellEffect({ status }: Device): string {
  if (status === 'active') return 'Messages that are sent from now on use it.';
  return 'The device gets no message until it registers again.';
}

export function Actions({ app, device }: { app: string; device: Device }) {
  const canTest = useMay('channel.edit');
  const canRemove = useMay('device.delete');
  const test = async () => {
    await call('testChannel', { app, channel: device.channel, body: { device_id: device.id } });
    notifications.show({ message: 'The test is on its way. It counts as one delivery.' });
    await refresh('explain', { app });
  };
  const remove = async () => {
    await call('optOutDevice', { app, id: device.id });
    await refresh(['getDevice', 'listDeviceDeliveries'], { app, id: device.id });
    notifications.show({ message: 'The device is opted out.' });
  };
  return (
    <>
      <Edit app={app} device={device} />
      {canTest.may && deviceCan(device.status, 'test') && (
        <ConfirmButton
          label="Send a test"
          title="Send a test to this device?"
          effect="The device rings with a short text. The test goes the way of every message and counts as one delivery."
          run={test}
        />
      )}
      {canRemove.may && deviceCan(device.status, 'remove') && (
        <ConfirmButton
          label="Opt out"
          title="Opt this device out?"
          effect="It gets no further message, its token is erased, and it no longer belongs to its user. Only the device itself can subscribe again."
          isDestructive
          run={remove}
        />
      )}
    </>
  );
}

function Edit({ app, device }: { app: string; device: Device }) {
  const { may } = useMay('device.edit');
  return (
    <Dialog label="Edit" title="Edit the device" isOffered={may && deviceCan(device.status, 'edit')}>
      {(close) => (
        <DeviceForm
          app={app}
          device={device}
          onCancel={close}
          onSaved={async ({ property_conflicts: conflicts, ...after }) => {
            close();
            queryClient.setQueryData(queryOf('getDevice', { app, id: device.id }).queryKey, after);
            notifications.show(tellSaved(conflicts, tellEffect(after)));
            await refresh('listDevices', { app });
          }}
        />
      )}
    </Dialog>
  );
}
