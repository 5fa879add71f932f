// Changes the type of a property.
import { Button, Modal, Select, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import type { CataloguedProperty } from '../../api/objects.ts';
import { ProblemPanel } from '../../components/problem.tsx';
import { propertyTypeNames } from '../../components/property-text.ts';
import { Consequences, refreshAll } from './consequences.tsx';

type Type = CataloguedProperty['type'];

export function ChangeType({ app, property }: { app: string; property: CataloguedProperty }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const others = (Object.keys(propertyTypeNames) as Type[]).filter((each) => each !== property.type);
  const [type, setType] = useState<Type>(others[0] ?? 'string');
  const change = useMutation({
    mutationFn: () => call('changeProperty', { app, key: property.key, body: { type } }),
    onSuccess: async () => {
      close();
      await refreshAll(app);
      notifications.show({ message: `${property.key} is a ${propertyTypeNames[type].toLowerCase()} now.` });
    },
  });
  return (
    <>
      <Button variant="default" onClick={open}>
        Change type
      </Button>
      <Modal opened={isOpen} onClose={close} title={`Change the type of ${property.key}?`}>
        <Stack>
          <Select
            label="New type"
            data={others.map((value) => ({ value, label: propertyTypeNames[value] }))}
            value={type}
            onChange={(chosen) => chosen !== null && setType(chosen)}
          />
          <div>
            <Consequences
              app={app}
              property={property.key}
              then="Nothing is converted. New values come in with the new type."
            />
          </div>
          {change.error && <ProblemPanel error={change.error} />}
          <div className="row-actions" style={{ justifyContent: 'flex-end' }}>
            <Button variant="default" onClick={close}>
              Keep as it is
            </Button>
            <Button color="red" loading={change.isPending} onClick={() => change.mutate()}>
              Change the type
            </Button>
          </div>
        </Stack>
      </Modal>
    </>
  );
}
