// The catalog of properties: the keys of users and devices, and their uses.
import { Select, TextInput } from '@mantine/core';
import { useNavigate } from 'react-router';
import { call } from '../api/client.ts';
import type { CataloguedProperty } from '../api/objects.ts';
import { refresh, usePages } from '../api/queries.ts';
import { useAppId } from '../api/session.ts';
import { FirstProperty } from '../components/first-code.tsx';
import { Form } from '../components/form.tsx';
import { HiddenValue, HiddenValuesNote } from '../components/hidden-values.tsx';
import { FoundList, useFilters } from '../components/list.tsx';
import { readRows, tellProperties } from '../components/list-answers.ts';
import { May } from '../components/not-allowed.tsx';
import { propertyTypeNames } from '../components/property-text.ts';
import { useDraftSave } from '../components/use-save.ts';
import { formatNumber } from '../format.ts';
import { paths } from '../paths.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Empty } from '../ui/empty.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import { State } from '../ui/state.tsx';
import type { Column } from '../ui/virtual-rows.tsx';

const columns: readonly Column<CataloguedProperty>[] = [
  { name: 'Key', width: 'minmax(120px, 2fr)', cell: ({ key }) => <strong className="mono">{key}</strong> },
  { name: 'Type', width: '88px', cell: ({ type }) => propertyTypeNames[type] },
  { name: 'Users', width: '80px', isRight: true, cell: ({ users_count }) => formatNumber(users_count) },
  {
    name: 'Samples',
    width: 'minmax(120px, 3fr)',
    cell: ({ samples }) => (samples ? samples.map(String).join(', ') || null : <HiddenValue />),
  },
  {
    name: 'Conflicts',
    width: '104px',
    cell: ({ conflicts_count }) =>
      conflicts_count === 0 ? (
        <span className="muted">none</span>
      ) : (
        <State tone="warn" mark="alert" text={formatNumber(conflicts_count)} />
      ),
  },
  { name: 'Index', width: '64px', cell: ({ indexed }) => (indexed ? 'yes' : <span className="muted">no</span>) },
  { name: 'Segments', width: '80px', isRight: true, cell: ({ segments }) => formatNumber(segments.length) },
  {
    name: 'Seen',
    width: 'minmax(112px, 1fr)',
    cell: ({ last_seen_at }) => <RelativeTime at={last_seen_at} none="never" />,
  },
];

export function Properties() {
  const app = useAppId();
  const { filters, field, from } = useFilters(['q']);
  const query = usePages('listProperties', { app, q: filters.q }, from);
  return (
    <>
      <PageHead
        title="Properties"
        answer={
          filters.q === undefined ? tellProperties(readRows(query.data)) : 'Those whose key begins with the text.'
        }
        actions={
          <May act="property.edit">
            <Dialog label="Declare a property" title="Declare a property" variant="filled">
              {(close) => <Declare app={app} onClose={close} />}
            </Dialog>
          </May>
        }
      />
      <HiddenValuesNote />
      <FoundList
        finds="The beginning of a key"
        search={field('q')}
        label="Properties"
        query={query}
        columns={columns}
        keyOf={({ key }) => key}
        hrefOf={({ key }) => paths.property(app, key)}
        minWidth={900}
        empty={
          filters.q ? (
            <Empty title="No key begins with this text">Letter case makes no difference.</Empty>
          ) : (
            <Empty title="No properties yet" action={<FirstProperty />}>
              Send a value with a user, from your server, and its key appears here.
            </Empty>
          )
        }
      />
    </>
  );
}

const typeOptions = Object.entries(propertyTypeNames).map(([value, label]) => ({ value, label }));

function Declare({ app, onClose }: { app: string; onClose: () => void }) {
  const navigate = useNavigate();
  const declaring = useDraftSave(`property ${app}`, {
    initialValues: { key: '', type: 'string' as keyof typeof propertyTypeNames },
    save: (values) => call('declareProperty', { app, body: values }),
    onSaved: async ({ key }) => {
      await refresh('listProperties', { app });
      await navigate(paths.property(app, key));
    },
  });
  const { form } = declaring;
  return (
    <Form of={declaring} label="Declare it" onCancel={onClose} isDisabled={form.values.key === ''}>
      <p className="muted" style={{ margin: 0 }}>
        A declared key has its type before the first value, so that no wrong value can decide it.
      </p>
      <TextInput
        label="Key"
        description="Letters, digits, _ and -, beginning with a letter or _."
        maxLength={64}
        data-autofocus
        {...form.getInputProps('key')}
      />
      <Select label="Type" data={typeOptions} {...form.getInputProps('type')} />
    </Form>
  );
}
