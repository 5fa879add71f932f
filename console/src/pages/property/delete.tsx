// Deletes a property.

import { useNavigate } from 'react-router';
import { call } from '../../api/client.ts';
import type { CataloguedProperty } from '../../api/objects.ts';
import { forget } from '../../api/queries.ts';
import { ConfirmButton } from '../../components/confirm.tsx';
import { paths } from '../../paths.ts';
import { answersAbout, Consequences, refreshAll } from './consequences.tsx';

export function Delete({ app, property }: { app: string; property: CataloguedProperty }) {
  const navigate = useNavigate();
  const remove = async () => {
    await call('deleteProperty', { app, key: property.key });
    await navigate(paths.properties(app));
    forget(answersAbout, { app, key: property.key });
    await refreshAll(app);
  };
  return (
    <ConfirmButton
      label="Delete"
      title={`Delete ${property.key}?`}
      effect={
        <Consequences
          app={app}
          property={property.key}
          then="The next value that a caller sends makes the key again."
        />
      }
      act="Delete the property"
      typed={property.key}
      isDestructive
      run={remove}
    />
  );
}
