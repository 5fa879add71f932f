import { Avatar, Menu, UnstyledButton } from '@mantine/core';
import { IconLogout, IconUser } from '@tabler/icons-react';
import { Link, useNavigate } from 'react-router';
import { call } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { paths } from '../paths.ts';
import { eraseDrafts } from './use-draft.ts';

export function AccountMenu() {
  const { account, organisation, role } = useSession();
  const navigate = useNavigate();
  const leave = async () => {
    // A session that has already ended need not be ended.
    await call('signOut', {}).catch(() => undefined);
    eraseDrafts();
    queryClient.clear();
    await navigate(paths.signIn);
  };
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <UnstyledButton aria-label={`Account of ${account.name}`} style={{ borderRadius: '50%' }}>
          <Avatar size={32} color="bronze" variant="light" aria-hidden>
            {account.name.slice(0, 1).toUpperCase()}
          </Avatar>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <span style={{ display: 'block', color: 'var(--text)', fontWeight: 600 }}>{account.name}</span>
          <span style={{ display: 'block' }}>{account.email}</span>
          <span style={{ display: 'block' }}>
            {role} of {organisation.name}
          </span>
        </Menu.Label>
        <Menu.Divider />
        <Menu.Item component={Link} to={paths.account} leftSection={<IconUser size={14} aria-hidden />}>
          Your account
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={14} aria-hidden />} onClick={() => void leave()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
