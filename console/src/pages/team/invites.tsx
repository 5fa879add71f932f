// An open invitation as a row, and the form that makes one.

import { Select, TextInput } from '@mantine/core';
import { type Role, rolesUpTo } from '../../api/can.ts';
import { call } from '../../api/client.ts';
import type { Invite } from '../../api/objects.ts';
import { refresh } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Form } from '../../components/form.tsx';
import { showOnce } from '../../components/secret-once.tsx';
import { useDraftSave } from '../../components/use-save.ts';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { State } from '../../ui/state.tsx';

const roleTexts: Readonly<Record<Role, string>> = {
  viewer: 'Viewer: sees messages and settings',
  member: 'Member: also users and devices, sends and cancels',
  admin: 'Admin: also keys, channels, webhooks and the team',
  owner: 'Owner: everything, also plans, tokens and deletion',
};

export function InviteRow({ invite: { id, email, role, expires_at } }: { invite: Invite }) {
  return (
    <li className="row">
      <div className="row-main">
        {email ?? 'Anybody with the link'} <State tone="warn" mark="waiting" text="Invited" />
        <div className="muted">
          Role {role}. The link ends <RelativeTime at={expires_at} />.
        </div>
      </div>
      <ConfirmButton
        label="Withdraw"
        title="Withdraw this invitation?"
        effect="Its link no longer works."
        run={async () => {
          await call('withdrawInvite', { invite: id });
          await refresh('getTeam');
        }}
      />
    </li>
  );
}

export function InviteForm({ onDone }: { onDone: () => void }) {
  const { role } = useSession();
  const making = useDraftSave('invite', {
    initialValues: { email: '', role: 'viewer' as Role },
    save: ({ email, role: given }) => call('invite', { body: { role: given, ...(email !== '' && { email }) } }),
    onSaved: async ({ link }) => {
      onDone();
      void showOnce({
        title: 'The invitation',
        text: 'Carillon sends no e-mail: copy the link and send it yourself. It works once, within 72 hours.',
        secrets: [['Link', link]],
      });
      await refresh('getTeam');
    },
  });
  const { form } = making;
  return (
    <Form of={making} label="Make the link" onCancel={onDone}>
      <TextInput
        label="E-mail"
        type="email"
        description="Only this address can use the link. Leave it empty for a link that anybody can use once."
        data-autofocus
        {...form.getInputProps('email')}
      />
      <Select
        label="Role"
        data={rolesUpTo(role).map((each) => ({ value: each, label: roleTexts[each] }))}
        {...form.getInputProps('role')}
      />
    </Form>
  );
}
