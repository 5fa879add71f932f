// The people of the organisation and their roles. Carillon sends no e-mail: an invitation is a
// link.
import { Button, Modal, Select, Stack, Switch, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { type Role, roleNames, rolesUpTo } from '../api/can.ts';
import { call } from '../api/client.ts';
import type { Invite, Member, Organisation, Token } from '../api/objects.ts';
import { pagesOf, refresh } from '../api/queries.ts';
import { useMay, useSession } from '../api/session.ts';
import { ActProblem } from '../components/change-list.tsx';
import { ConfirmButton } from '../components/confirm.tsx';
import { FormFoot } from '../components/form-foot.tsx';
import { useFilters } from '../components/list.tsx';
import { NotAllowed } from '../components/not-allowed.tsx';
import { RowPages } from '../components/row-pages.tsx';
import { SecretOnce } from '../components/secret-once.tsx';
import { TokenRow } from '../components/token-row.tsx';
import { useDraft } from '../components/use-draft.ts';
import { useSave } from '../components/use-save.ts';
import { count, formatNumber } from '../format.ts';
import { Card } from '../ui/card.tsx';
import { Empty } from '../ui/empty.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import { State } from '../ui/state.tsx';

const roleTexts: Readonly<Record<Role, string>> = {
  viewer: 'Viewer: sees messages and settings',
  member: 'Member: also users and devices, sends and cancels',
  admin: 'Admin: also keys, channels, webhooks and the team',
  owner: 'Owner: everything, also plans, tokens and deletion',
};

export function TeamPage() {
  const { organisation } = useSession();
  const { may, reason } = useMay('team.edit');
  const { filters, from } = useFilters(['q']);
  const team = useInfiniteQuery({ ...pagesOf('getTeam', { q: filters.q }, from), enabled: may });
  const first = team.data?.pages[0];
  const [isOpen, { open, close }] = useDisclosure(false);
  const [link, setLink] = useState<string | null>(null);
  const [left, setLeft] = useState<readonly Token[]>([]);
  if (!may) return <NotAllowed what="Team" reason={reason} />;
  return (
    <>
      <PageHead
        title="Team"
        answer={
          team.data
            ? tellTeam(
                organisation.name,
                team.data.pages.flatMap((page) => page.members),
                team.data.pages.flatMap((page) => page.invites),
              )
            : null
        }
        actions={
          <Button onClick={open} leftSection={<IconPlus size={16} aria-hidden />}>
            Invite
          </Button>
        }
      />
      <div className="stack">
        <Card title="People" isFlush>
          <RowPages
            label="People"
            query={team}
            rowsOf={({ members, invites }) => [...members, ...invites]}
            keyOf={({ id }) => id}
            rowOf={(one) =>
              'joined_at' in one ? <MemberRow member={one} onTokensLeft={setLeft} /> : <InviteRow invite={one} />
            }
            finds="The beginning of a name or an address"
            empty={<Empty title="Nobody yet">Invite the first person. The invitation is a link.</Empty>}
          />
        </Card>
        {first && <RequireTwoFactor organisation={first.organisation} />}
      </div>
      <Modal opened={isOpen} onClose={close} title="Invite somebody" closeButtonProps={{ 'aria-label': 'Close' }}>
        <InviteForm
          onCancel={close}
          onMade={async (made) => {
            close();
            setLink(made);
            await refresh('getTeam');
          }}
        />
      </Modal>
      <SecretOnce
        title="The invitation"
        text="Carillon sends no e-mail: copy the link and send it yourself. It works once, within 72 hours."
        secrets={link === null ? null : [['Link', link]]}
        onClose={() => setLink(null)}
      />
      <Modal
        opened={left.length > 0}
        onClose={() => setLeft([])}
        title="Operator tokens that still work"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <Stack>
          <div>The former owner made them. Revoke those that nobody else needs.</div>
          <ul className="rows" aria-label="Operator tokens">
            {left.map((token) => (
              <TokenRow
                key={token.id}
                token={token}
                onRevoked={() => setLeft((tokens) => tokens.filter(({ id }) => id !== token.id))}
              />
            ))}
          </ul>
        </Stack>
      </Modal>
    </>
  );
}

/** `3 people in Harbour Books Ltd, 1 invited. 2 have no second factor.` */
function tellTeam(name: string, members: readonly Member[], invites: readonly Invite[]): string {
  const without = members.filter(({ two_factor }) => !two_factor).length;
  const invited = invites.length === 0 ? '' : `, ${formatNumber(invites.length)} invited`;
  const secured =
    without === 0
      ? 'Everybody has a second factor.'
      : without === members.length
        ? 'Nobody has a second factor.'
        : `${formatNumber(without)} ${without === 1 ? 'has' : 'have'} no second factor.`;
  return `${count(members.length, 'person', 'people')} in ${name}${invited}. ${secured}`;
}

function InviteRow({ invite: { id, email, role, expires_at } }: { invite: Invite }) {
  return (
    <li className="row">
      <div className="row-main">
        {email ?? 'Anybody with the link'}{' '}
        <State tone="warn" mark="waiting">
          Invited
        </State>
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

function MemberRow({ member, onTokensLeft }: { member: Member; onTokensLeft: (tokens: readonly Token[]) => void }) {
  const { account, role } = useSession();
  const isSelf = member.id === account.id;
  const change = useMutation({
    mutationFn: ({ role: chosen, seen }: { role: Role; seen: Member }) =>
      call('changeRole', { member: seen.id, body: { role: chosen, updated_at: seen.updated_at } }),
    onSuccess: ({ tokens }) => onTokensLeft(tokens),
    onSettled: () => refresh('getTeam'),
  });
  return (
    <li className="row">
      <div className="row-main">
        <strong style={{ fontWeight: 500 }}>{member.name}</strong> {isSelf && <span className="muted">(you)</span>}{' '}
        {!member.two_factor && (
          <State tone="warn" mark="alert">
            No second factor
          </State>
        )}
        <div className="muted">
          {member.email} · joined <RelativeTime at={member.joined_at} /> · last active{' '}
          <RelativeTime at={member.last_used_at} none="not lately" />
        </div>
        {change.error && <ActProblem error={change.error} seen={change.variables.seen} fields={['role']} />}
      </div>
      {isSelf || !rolesUpTo(role).includes(member.role) ? (
        <span>{roleNames[member.role]}</span>
      ) : (
        <Select
          aria-label={`Role of ${member.name}`}
          data={rolesUpTo(role).map((each) => ({ value: each, label: roleNames[each] }))}
          value={member.role}
          onChange={(chosen) => chosen && change.mutate({ role: chosen as Role, seen: member })}
          w={128}
        />
      )}
      {!isSelf && (
        <ConfirmButton
          label="Remove"
          title={`Remove ${member.name}?`}
          effect="Their sessions end at once. Operator tokens that they made are listed then, so that you can revoke them."
          isDestructive
          run={async () => {
            const { tokens } = await call('removeMember', { member: member.id });
            onTokensLeft(tokens);
            await refresh('getTeam');
          }}
        />
      )}
    </li>
  );
}

function InviteForm({ onMade, onCancel }: { onMade: (link: string) => unknown; onCancel: () => void }) {
  const { role } = useSession();
  const draft = useDraft<{ email: string; role: Role }>('invite', { initialValues: { email: '', role: 'viewer' } });
  const { form } = draft;
  const save = useSave({
    form,
    save: ({ email, role: given }) => call('invite', { body: { role: given, ...(email !== '' && { email }) } }),
    onSaved: ({ link }) => {
      draft.forget();
      onMade(link);
    },
  });
  return (
    <form onSubmit={form.onSubmit(save.submit)}>
      <Stack>
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
        <FormFoot label="Make the link" save={save} draft={draft} onCancel={onCancel} />
      </Stack>
    </form>
  );
}

function RequireTwoFactor({ organisation }: { organisation: Organisation }) {
  const { may } = useMay('organisation.edit');
  const change = useMutation({
    mutationFn: ({ isRequired, seen }: { isRequired: boolean; seen: Organisation }) =>
      call('editOrganisation', { body: { require_two_factor: isRequired, updated_at: seen.updated_at } }),
    onSettled: () => refresh(['getTeam', 'getSession']),
  });
  if (!may) return null;
  return (
    <Card title="Second factor">
      <Switch
        label="Require a second factor from everybody"
        description="People without one set it up at their next visit, before they see anything else."
        checked={organisation.require_two_factor}
        onChange={({ currentTarget }) => change.mutate({ isRequired: currentTarget.checked, seen: organisation })}
      />
      {change.error && (
        <ActProblem error={change.error} seen={change.variables.seen} fields={['name', 'require_two_factor']} />
      )}
    </Card>
  );
}
