// Operator tokens: what scripts and Terraform use in place of a person.
import { Select, TextInput } from '@mantine/core';
import { roleNames } from '../api/can.ts';
import { call } from '../api/client.ts';
import type { MadeToken, NewToken } from '../api/objects.ts';
import { refresh, usePages } from '../api/queries.ts';
import { Form } from '../components/form.tsx';
import { useFilters } from '../components/list.tsx';
import { RowPages } from '../components/row-pages.tsx';
import { showOnce } from '../components/secret-once.tsx';
import { TokenRow } from '../components/token-row.tsx';
import { useDraftSave } from '../components/use-save.ts';
import { Card } from '../ui/card.tsx';
import { CodeBlock } from '../ui/copy.tsx';
import { NewDialog } from '../ui/dialog.tsx';
import { Empty } from '../ui/empty.tsx';
import { PageHead } from '../ui/page-head.tsx';

export function Tokens() {
  const { filters, from } = useFilters(['q']);
  const tokens = usePages('listTokens', { q: filters.q }, from);
  return (
    <>
      <PageHead
        title="Operator tokens"
        answer="A script with a token may do what a person of the same role may do. The audit lists each change under the token's name."
        actions={
          <NewDialog label="New token" title="New operator token">
            {(close) => <TokenForm onDone={close} />}
          </NewDialog>
        }
      />
      <Card isFlush>
        <RowPages
          label="Operator tokens"
          query={tokens}
          rowsOf={({ data }) => data.filter(({ revoked_at }) => revoked_at === null)}
          keyOf={({ id }) => id}
          rowOf={(token) => <TokenRow token={token} />}
          finds="Id, or the beginning of a name"
          empty={
            <Empty
              title="No tokens"
              action={
                <CodeBlock
                  label="A call with a token"
                  code={`curl ${window.location.origin}/console/api/apps \\\n  -H 'authorization: Bearer ot_live_…'`}
                />
              }
            >
              Make one to set up apps, keys, channels and webhooks from a script.
            </Empty>
          }
        />
      </Card>
    </>
  );
}

function TokenForm({ onDone }: { onDone: () => void }) {
  const making = useDraftSave<NewToken, MadeToken>('token', {
    initialValues: { name: '', role: 'admin' },
    save: (body) => call('createToken', { body }),
    onSaved: async ({ name, token }) => {
      onDone();
      void showOnce({
        title: `Token ${name}`,
        text: 'This is the only time that the token is shown. It works from scripts, never from a browser.',
        secrets: [['Token', token]],
      });
      await refresh('listTokens');
    },
  });
  const { form } = making;
  return (
    <Form of={making} label="Make the token" onCancel={onDone}>
      <TextInput
        label="Name"
        description="What uses it, such as Terraform"
        required
        maxLength={128}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <Select
        label="Role"
        data={Object.entries(roleNames).map(([value, label]) => ({ value, label }))}
        {...form.getInputProps('role')}
      />
    </Form>
  );
}
