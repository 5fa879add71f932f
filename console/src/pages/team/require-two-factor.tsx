// The switch that requires a second factor from everybody.

import { Switch } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import type { Organisation } from '../../api/objects.ts';
import { refresh } from '../../api/queries.ts';
import { useMay } from '../../api/session.ts';
import { ActProblem } from '../../components/change-list.tsx';
import { Card } from '../../ui/card.tsx';

export function RequireTwoFactor({ organisation }: { organisation: Organisation }) {
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
