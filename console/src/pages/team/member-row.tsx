// A member as a row: the role can be changed, and the member removed.

import { Select } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type Role, roleNames, rolesUpTo } from '../../api/can.ts';
import { call } from '../../api/client.ts';
import type { Member, Token } from '../../api/objects.ts';
import { refresh } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import { ActProblem } from '../../components/change-list.tsx';
import { ConfirmButton } from '../../components/confirm.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { State } from '../../ui/state.tsx';

export function MemberRow({
  member,
  onTokensLeft,
}: {
  member: Member;
  onTokensLeft: (tokens: readonly Token[]) => void;
}) {
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
        {!member.two_factor && <State tone="warn" mark="alert" text="No second factor" />}
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
