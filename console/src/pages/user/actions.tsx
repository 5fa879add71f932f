// Exports, edits and erases a user.

import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconDownload } from '@tabler/icons-react';
import { useNavigate } from 'react-router';
import { addressOf, call } from '../../api/client.ts';
import type { User } from '../../api/objects.ts';
import { forget, queryClient, queryOf, refresh } from '../../api/queries.ts';
import { useMay } from '../../api/session.ts';
import { ConfirmButton } from '../../components/confirm.tsx';
import { May } from '../../components/not-allowed.tsx';
import { tellSaved } from '../../components/saved-text.ts';
import { count } from '../../format.ts';
import { UserForm } from '../../forms/user.tsx';
import { paths } from '../../paths.ts';
import { Dialog } from '../../ui/dialog.tsx';

const answersAbout = ['getUser', 'listUserSegments', 'listUserEvents', 'listUserDeliveries'] as const;

export function Actions({ app, user, devices }: { app: string; user: User; devices: number }) {
  const navigate = useNavigate();
  const canExport = useMay('user.export');
  const canErase = useMay('user.erase');
  const erase = async () => {
    const { devices_removed } = await call('deleteUser', { app, external_id: user.external_id });
    forget(answersAbout, { app, external_id: user.external_id });
    await refresh('listUsers', { app });
    notifications.show({ message: `The user is erased, with ${count(devices_removed, 'device')}.` });
    await navigate(paths.users(app));
  };
  return (
    <>
      {canExport.may && (
        <Button
          component="a"
          href={addressOf('exportUser', { app, external_id: user.external_id })}
          download={`${encodeURIComponent(user.external_id)}.json`}
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
        >
          Export
        </Button>
      )}
      {canErase.may && (
        <ConfirmButton
          label="Erase"
          title="Erase this user?"
          typed={user.external_id}
          isDestructive
          effect={`The profile and ${count(devices, 'device')} go at once. Within 24 hours events and deliveries no longer name this person; their counts stay. This cannot be undone.`}
          act="Erase for ever"
          run={erase}
        />
      )}
    </>
  );
}

export function Edit({ app, user }: { app: string; user: User }) {
  return (
    <May act="user.edit">
      <Dialog label="Edit" title="Edit the profile" size="xs">
        {(close) => (
          <UserForm
            app={app}
            user={user}
            onCancel={close}
            onSaved={async ({ property_conflicts: conflicts, ...after }) => {
              close();
              queryClient.setQueryData(queryOf('getUser', { app, external_id: user.external_id }).queryKey, after);
              notifications.show(tellSaved(conflicts, 'Messages that are sent from now on use it.'));
              await refresh(answersAbout, { app, external_id: user.external_id });
              await refresh('listUsers', { app });
            }}
          />
        )}
      </Dialog>
    </May>
  );
}
