// Changes the type of a property.
import { Select, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import type { CataloguedProperty } from '../../api/objects.ts';
import { ConfirmButton } from '../../components/confirm.tsx';
import { propertyTypeNames } from '../../components/property-text.ts';
import { Consequences, refreshAll } from './consequences.tsx';

type Type = CataloguedProperty['type'];

export function ChangeType({ app, property: { key, type: present } }: { app: string; property: CataloguedProperty }) {
  const others = (Object.keys(propertyTypeNames) as Type[]).filter((each) => each !== present);
  const [type, setType] = useState<Type>(others[0] ?? 'string');
  return (
    <ConfirmButton
      label="Change type"
      title={`Change the type of ${key}?`}
      act="Change the type"
      isDestructive
      button={{ color: 'bronze' }}
      effect={
        <Stack>
          <Select
            label="New type"
            data={others.map((value) => ({ value, label: propertyTypeNames[value] }))}
            value={type}
            onChange={(chosen) => chosen !== null && setType(chosen)}
          />
          <div>
            <Consequences app={app} property={key} then="Nothing is converted. New values come in with the new type." />
          </div>
        </Stack>
      }
      run={async () => {
        await call('changeProperty', { app, key, body: { type } });
        await refreshAll(app);
        notifications.show({ message: `${key} is a ${propertyTypeNames[type].toLowerCase()} now.` });
      }}
    />
  );
}
