// Sees the message before others do: in this browser, and on the devices of the app's test users.
import { ActionIcon, Button, Group, Select, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconTrash } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { call, Problem } from '../../api/client.ts';
import type { Content, TestUsers } from '../../api/objects.ts';
import { queryClient, queryOf, refresh, useAnswer } from '../../api/queries.ts';
import { count } from '../../format.ts';
import { Card } from '../../ui/card.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemPanel } from '../problem.tsx';
import { type OwnBrowserResult, sendToOwnBrowser } from './own-browser.ts';

interface TestsProps {
  readonly app: string;
  readonly content: Content;
  /** False: there is nothing to send yet. */
  readonly isReady: boolean;
}

const outcomes: Readonly<Record<OwnBrowserResult, string>> = {
  displayed: 'This browser has shown it.',
  sent: 'The push service took it, and this browser has not shown it. Check that notifications of this site are allowed.',
  not_sent: 'The push service did not take it. The message "Test" under Messages says why.',
};

export function Tests({ app, content, isReady }: TestsProps) {
  const list = useAnswer('getTestUsers', { app });
  const own = useMutation({ mutationFn: () => sendToOwnBrowser(app, content) });
  const toUsers = useMutation({
    mutationFn: () => call('sendToTestUsers', { app, body: { content } }),
    onSuccess: ({ report }) =>
      notifications.show({ message: `The test went to ${report.sent} of ${count(report.accepted, 'device')}.` }),
  });
  const devices = list.data?.users.reduce((sum, each) => sum + each.devices, 0) ?? 0;
  return (
    <Card title="Test it first">
      <Stack gap="sm">
        <Button variant="default" disabled={!isReady} loading={own.isPending} onClick={() => own.mutate()}>
          Send test to this browser
        </Button>
        {own.data !== undefined && (
          <p role="status" style={{ margin: 0 }}>
            {outcomes[own.data]}
          </p>
        )}
        {own.error !== null && <OwnProblem error={own.error} />}
        <Group gap="xs">
          <Button
            variant="default"
            style={{ flex: 1 }}
            disabled={!isReady || devices === 0}
            loading={toUsers.isPending}
            onClick={() => toUsers.mutate()}
          >
            {devices === 0 ? 'Send to test users' : `Send to ${count(devices, 'test device')}`}
          </Button>
          <Dialog label="Test users" title="Test users" variant="subtle" disabled={list.data === undefined}>
            {(close) => list.data && <EditList key={list.data.updated_at} app={app} list={list.data} onDone={close} />}
          </Dialog>
        </Group>
        {list.data !== undefined && devices === 0 && (
          <p className="muted compose-hint">No test user has an active device. Add some under Test users.</p>
        )}
        {toUsers.error !== null && <ProblemPanel error={toUsers.error} />}
      </Stack>
    </Card>
  );
}

/** The SDK's errors name the obstacle in words. */
function OwnProblem({ error }: { error: Error }) {
  if (error instanceof Problem) return <ProblemPanel error={error} />;
  return (
    <p role="alert" className="tone-bad" style={{ margin: 0 }}>
      {error.message}
    </p>
  );
}

type Entry = { readonly external_id: string } | { readonly device_id: string };
const nameOf = (entry: Entry): string => ('external_id' in entry ? entry.external_id : entry.device_id);
const listMax = 20;

function EditList({ app, list, onDone }: { app: string; list: TestUsers; onDone: () => void }) {
  const [entries, setEntries] = useState<readonly Entry[]>(
    list.users.map(({ devices: _devices, ...entry }) => entry as Entry),
  );
  const [kind, setKind] = useState<'external_id' | 'device_id'>('external_id');
  const [text, setText] = useState('');
  const devicesOf = (entry: Entry): number | undefined =>
    list.users.find((each) => nameOf(each as Entry) === nameOf(entry))?.devices;
  const save = useMutation({
    mutationFn: () =>
      call('setTestUsers', { app, body: { users: [...entries], updated_at: list.updated_at as string | null } }),
    onSuccess: (stored) => {
      queryClient.setQueryData(queryOf('getTestUsers', { app }).queryKey, stored);
      onDone();
    },
  });
  const isKnown = entries.some((entry) => nameOf(entry) === text.trim());
  const add = (event: FormEvent) => {
    event.preventDefault();
    const id = text.trim();
    if (id === '' || isKnown || entries.length >= listMax) return;
    setEntries([...entries, kind === 'external_id' ? { external_id: id } : { device_id: id }]);
    setText('');
  };
  const isChanged = save.error instanceof Problem && save.error.isChangedMeanwhile;
  return (
    <Stack>
      <span className="muted">Up to 20 users and devices of this app. The whole team shares the list.</span>
      <ul className="rows" aria-label="Test users of this app">
        {entries.map((entry) => (
          <li key={nameOf(entry)} className="row" style={{ padding: '6px 0' }}>
            <span className="row-main">
              <span className={'device_id' in entry ? 'mono' : undefined}>{nameOf(entry)}</span>{' '}
              {devicesOf(entry) !== undefined && (
                <span className="muted">{count(devicesOf(entry) ?? 0, 'active device')}</span>
              )}
            </span>
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove ${nameOf(entry)}`}
              onClick={() => setEntries(entries.filter((each) => each !== entry))}
            >
              <IconTrash size={16} aria-hidden />
            </ActionIcon>
          </li>
        ))}
      </ul>
      <form onSubmit={add}>
        <Group gap="xs" align="end" wrap="nowrap">
          <Select
            label="Kind"
            w={112}
            data={[
              { value: 'external_id', label: 'User' },
              { value: 'device_id', label: 'Device' },
            ]}
            value={kind}
            onChange={(next) => setKind(next === 'device_id' ? 'device_id' : 'external_id')}
          />
          <TextInput
            label={kind === 'external_id' ? 'External id' : 'Device id'}
            style={{ flex: 1 }}
            value={text}
            maxLength={256}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
          />
          <Button type="submit" variant="default" disabled={text.trim() === '' || isKnown || entries.length >= listMax}>
            Add
          </Button>
        </Group>
      </form>
      {isChanged ? (
        <p role="alert" className="tone-bad" style={{ margin: 0 }}>
          Somebody else changed the list meanwhile.{' '}
          <Button variant="subtle" size="compact-xs" onClick={() => void refresh('getTestUsers', { app })}>
            Show theirs
          </Button>
        </p>
      ) : (
        save.error !== null && <ProblemPanel error={save.error} />
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onDone}>
          Cancel
        </Button>
        <Button onClick={() => save.mutate()} loading={save.isPending}>
          Save
        </Button>
      </Group>
    </Stack>
  );
}
