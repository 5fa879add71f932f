// The people of the organisation and their roles. Carillon sends no e-mail: an invitation is a
// link.

import { Modal, Stack } from '@mantine/core';
import { useState } from 'react';
import type { Invite, Member, Token } from '../../api/objects.ts';
import { usePages } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import { useFilters } from '../../components/list.tsx';
import { RowPages } from '../../components/row-pages.tsx';
import { TokenRow } from '../../components/token-row.tsx';
import { count, formatNumber } from '../../format.ts';
import { Card } from '../../ui/card.tsx';
import { NewDialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { InviteForm, InviteRow } from './invites.tsx';
import { MemberRow } from './member-row.tsx';
import { RequireTwoFactor } from './require-two-factor.tsx';

export function TeamPage() {
  const { organisation } = useSession();
  const { filters, from } = useFilters(['q']);
  const team = usePages('getTeam', { q: filters.q }, from);
  const first = team.data?.pages[0];
  const [left, setLeft] = useState<readonly Token[]>([]);
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
          <NewDialog label="Invite" title="Invite somebody">
            {(close) => <InviteForm onDone={close} />}
          </NewDialog>
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
      <Modal opened={left.length > 0} onClose={() => setLeft([])} title="Operator tokens that still work">
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
