// The drafts and templates of an app. A message can start from each of them, and from old versions.
import { Button, Drawer, Select, Stack, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { keepPreviousData, type UseQueryResult, useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { call } from '../../api/client.ts';
import type { DraftPage } from '../../api/objects.ts';
import { allOf, keyOf, queryClient, refresh, useAnswer } from '../../api/queries.ts';
import { paths } from '../../paths.ts';
import { Empty } from '../../ui/empty.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { TabSet } from '../../ui/tab-set.tsx';
import { tellAuthor } from '../author.ts';
import { ConfirmButton } from '../confirm.tsx';
import { Loaded } from '../loaded.tsx';
import { tellFailure } from '../problem.tsx';
import { tellWithUndo } from '../tell-with-undo.tsx';

type ListedDraft = DraftPage['data'][number];

interface LibraryProps {
  readonly app: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function Library({ app, isOpen, onClose }: LibraryProps) {
  return (
    <Drawer opened={isOpen} onClose={onClose} position="right" size={440} title="Drafts and templates">
      <TabSet
        gap="md"
        tabs={[
          ['Drafts', () => <Drafts app={app} onChosen={onClose} />],
          ['Templates', () => <Templates app={app} onChosen={onClose} />],
        ]}
      />
    </Drawer>
  );
}

interface ShelfProps {
  readonly app: string;
  readonly onChosen: () => void;
}

interface ShelfItem {
  readonly id: string;
  readonly changed_by: string;
  readonly updated_at: unknown;
}

interface ListedShelfProps<Item extends ShelfItem> {
  readonly label: string;
  readonly find: Find;
  readonly query: UseQueryResult<{ readonly data: readonly Item[] }>;
  readonly empty: ReactNode;
  readonly to: (id: string) => string;
  readonly nameOf: (item: Item) => string;
  /** Text before the author's name, such as the version. */
  readonly about?: (item: Item) => string;
  readonly below?: (item: Item) => ReactNode;
  readonly acts: (item: Item) => ReactNode;
  readonly onChosen: () => void;
}

/** The text of the search, and the text for the request. */
function useFind() {
  const [text, setText] = useState('');
  const [q] = useDebouncedValue(text.trim(), 150);
  return { text, setText, q };
}
type Find = ReturnType<typeof useFind>;

/** Drafts or templates: a search by name, and a list with each one's author and buttons. */
function Shelf<Item extends ShelfItem>(props: ListedShelfProps<Item>) {
  const { label, find, query, empty, to, nameOf, about, below, acts, onChosen } = props;
  return (
    <Stack>
      <TextInput
        label="Find"
        placeholder="The beginning of a name, or an id"
        value={find.text}
        maxLength={128}
        onChange={({ currentTarget }) => find.setText(currentTarget.value)}
      />
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            find.q === '' ? (
              empty
            ) : (
              <p className="muted">Nothing begins with this text.</p>
            )
          ) : (
            <ul className="rows" aria-label={label}>
              {data.map((item) => (
                <li key={item.id} className="row" style={{ padding: '10px 0' }}>
                  <div className="row-main">
                    <Link to={to(item.id)} onClick={onChosen}>
                      {nameOf(item)}
                    </Link>
                    <div className="muted" style={{ fontSize: 12 }}>
                      {about?.(item)}
                      {tellAuthor(item.changed_by)}, <RelativeTime at={String(item.updated_at)} />
                    </div>
                    {below?.(item)}
                  </div>
                  {acts(item)}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Stack>
  );
}

function Drafts({ app, onChosen }: ShelfProps) {
  const find = useFind();
  const query = useAnswer('listDrafts', { app, q: find.q }, { placeholderData: keepPreviousData });
  const titleOf = ({ name, title }: ListedDraft) => name || title || 'Without a title';
  const remove = useMutation({
    // The draft is read first, so that it can be restored.
    async mutationFn(listed: ListedDraft) {
      const { name, message } = await call('getDraft', { app, draft: listed.id });
      await call('deleteDraft', { app, draft: listed.id });
      return { title: titleOf(listed), name, message };
    },
    onMutate: ({ id }) =>
      queryClient.setQueriesData<DraftPage>({ queryKey: keyOf('listDrafts', { app }) }, (page) =>
        page ? { ...page, data: page.data.filter((draft) => draft.id !== id) } : page,
      ),
    onSuccess: ({ title, name, message }) =>
      tellWithUndo(`“${title}” is deleted.`, async () => {
        await call('createDraft', { app, body: { name, message } }, { outlivesPage: true });
        await refresh('listDrafts', { app });
      }),
    onError: (error) => notifications.show({ color: 'red', message: tellFailure(error) }),
    onSettled: () => refresh('listDrafts', { app }),
  });
  return (
    <Shelf
      label="Drafts"
      find={find}
      query={query}
      empty={<Empty title="No draft">What you type here is kept as a draft that your whole team can go on with.</Empty>}
      to={(id) => paths.compose(app, { draft: id })}
      nameOf={titleOf}
      onChosen={onChosen}
      acts={(draft) => (
        <Button
          variant="subtle"
          color="red"
          size="compact-sm"
          aria-label={`Delete ${titleOf(draft)}`}
          onClick={() => remove.mutate(draft)}
        >
          Delete
        </Button>
      )}
    />
  );
}

function Templates({ app, onChosen }: ShelfProps) {
  const find = useFind();
  const query = useAnswer('listTemplates', { app, q: find.q }, { placeholderData: keepPreviousData });
  const [open, setOpen] = useState<string | null>(null);
  return (
    <Shelf
      label="Templates"
      find={find}
      query={query}
      empty={<Empty title="No template">Save a message as a template to start from it again.</Empty>}
      to={(id) => paths.compose(app, { template: id })}
      nameOf={({ name }) => name}
      about={({ version }) => `Version ${version}, `}
      below={({ id }) => open === id && <Versions app={app} template={id} onChosen={onChosen} />}
      onChosen={onChosen}
      acts={({ id, name, version }) => (
        <>
          {version > 1 && (
            <Button
              variant="subtle"
              size="compact-sm"
              aria-expanded={open === id}
              onClick={() => setOpen(open === id ? null : id)}
            >
              Versions
            </Button>
          )}
          <ConfirmButton
            label="Delete"
            title="Delete this template?"
            effect={`“${name}” and its versions are gone. Messages that started from it keep their text.`}
            isDestructive
            button={{ size: 'compact-sm' }}
            run={async () => {
              await call('deleteTemplate', { app, template: id });
              await refresh('listTemplates', { app });
            }}
          />
        </>
      )}
    />
  );
}

function Versions({ app, template, onChosen }: ShelfProps & { template: string }) {
  const query = useAnswer('getTemplate', { app, template });
  return (
    <Loaded query={query}>
      {({ versions }) => (
        <ul className="value-list" aria-label="Versions">
          {versions.map(({ version, created_by, created_at }) => (
            <li key={version}>
              <Link to={paths.compose(app, { template, version: String(version) })} onClick={onChosen}>
                Version {version}
              </Link>{' '}
              <span className="muted">
                {tellAuthor(created_by)}, <RelativeTime at={String(created_at)} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Loaded>
  );
}

interface TemplateChoiceProps {
  readonly app: string;
  readonly value: string | null;
  readonly onChange: (template: string | null) => void;
}

/** The template that a save replaces; absent: a new one. */
export function TemplateChoice({ app, value, onChange }: TemplateChoiceProps) {
  const listed = useQuery(allOf('listTemplates', { app })).data?.data ?? [];
  return (
    <Select
      label="Save as"
      searchable
      allowDeselect={false}
      nothingFoundMessage="No template has this name"
      data={[
        { value: '', label: 'A new template' },
        ...listed.map(({ id, name }) => ({ value: id, label: `A new version of ${name}` })),
      ]}
      value={value ?? ''}
      onChange={(next) => onChange(next || null)}
    />
  );
}
