// The keys of an app: who calls the API. A key is shown once, when it is made.
import { Select, TextInput } from '@mantine/core';
import { Link } from 'react-router';
import { call } from '../api/client.ts';
import type { Key, MadeKey, NewKey } from '../api/objects.ts';
import { refresh, usePages } from '../api/queries.ts';
import { useAppId, useMay } from '../api/session.ts';
import { tellAuthor } from '../components/author.ts';
import { Form } from '../components/form.tsx';
import { KeyActs, keyStateOf, showKey } from '../components/key-acts.tsx';
import { useFilters } from '../components/list.tsx';
import { NotAllowed } from '../components/not-allowed.tsx';
import { RowPages } from '../components/row-pages.tsx';
import { Status } from '../components/status.tsx';
import { useDraftSave } from '../components/use-save.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { NewDialog } from '../ui/dialog.tsx';
import { Empty } from '../ui/empty.tsx';
import { RelativeTime, useNow } from '../ui/relative-time.tsx';

export function Keys() {
  const app = useAppId();
  const { may, reason } = useMay('key.edit');
  const { filters, from } = useFilters(['q']);
  const keys = usePages('listKeys', { app, q: filters.q }, from, { enabled: may });
  if (!may) {
    return (
      <>
        <NotAllowed what="Keys" reason={reason} isPart />
        <p style={{ textAlign: 'center' }}>
          You can read <Link to={paths.channels(app)}>channels</Link> and <Link to={paths.webhooks(app)}>webhooks</Link>
          .
        </p>
      </>
    );
  }
  return (
    <Card
      title="Keys"
      isFlush
      actions={
        <NewDialog label="New key" title="New key">
          {(close) => <KeyForm app={app} onDone={close} />}
        </NewDialog>
      }
    >
      <p className="muted" style={{ margin: '0 16px 12px' }}>
        A server key may do everything and stays on your server. A client key may only register its own device, identify
        it and track events; anybody can read it.
      </p>
      <RowPages
        label="Keys"
        query={keys}
        rowsOf={({ data }) => data}
        keyOf={({ id }) => id}
        rowOf={(key) => <KeyRow app={app} value={key} />}
        finds="Id, or the beginning of a name"
        empty={<Empty title="No keys">Make a server key for your server, and a client key for your site or app.</Empty>}
      />
    </Card>
  );
}

function KeyRow({ app, value: key }: { app: string; value: Key }) {
  const state = keyStateOf(key, useNow());
  return (
    <li className="row">
      <div className="row-main">
        <Link to={paths.key(app, key.id)}>{key.name}</Link> <Status status={state} />
        <div className="muted">
          <span className="mono">
            {key.start}…{key.last4}
          </span>{' '}
          · {key.scope} key · made <RelativeTime at={key.created_at} />
          {` by ${tellAuthor(key.created_by)}`} ·{' '}
          {key.last_used_at === null ? (
            'never used'
          ) : (
            <>
              last used <RelativeTime at={key.last_used_at} />
            </>
          )}
          {state === 'expiring' && (
            <>
              {' '}
              · ends <RelativeTime at={key.expires_at} />
            </>
          )}
        </div>
      </div>
      <KeyActs value={key} state={state} onChanged={() => refresh('listKeys', { app })} />
    </li>
  );
}

function KeyForm({ app, onDone }: { app: string; onDone: () => void }) {
  const making = useDraftSave<NewKey, MadeKey>(`key ${app}`, {
    initialValues: { name: '', scope: 'server' },
    save: (body) => call('createKey', { app, body }),
    onSaved: async (made) => {
      onDone();
      void showKey(made);
      await refresh('listKeys', { app });
    },
  });
  const { form } = making;
  return (
    <Form of={making} label="Make the key" onCancel={onDone}>
      <TextInput
        label="Name"
        description="Where it is used, such as Backend"
        required
        maxLength={128}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <Select
        label="Scope"
        data={[
          { value: 'server', label: 'Server: sends, reads and changes' },
          { value: 'client', label: 'Client: registers its own device' },
        ]}
        {...form.getInputProps('scope')}
      />
    </Form>
  );
}
