// Saves the content as a template: a new one, or a new version of one that is there. If somebody
// else saved a version meanwhile, the dialog says so first.
import { Alert, Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { call, Problem } from '../../api/client.ts';
import type { Content, Template } from '../../api/objects.ts';
import { allOf, refresh, useAnswer } from '../../api/queries.ts';
import { tellAuthor } from '../author.ts';
import { ChangeList } from '../change-list.tsx';
import { changesOf } from '../draft-merge.ts';
import { Loaded } from '../loaded.tsx';
import { ProblemPanel } from '../problem.tsx';
import { TemplateChoice } from './library.tsx';

/** A template in the state in which this person read it or saved it. */
export type SeenTemplate = Pick<Template, 'id' | 'name' | 'version' | 'updated_at'>;

interface SaveTemplateProps {
  readonly app: string;
  readonly content: Content;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** The template that this message started from. */
  readonly origin: string | null;
  /** The templates that this message started from or was saved as, by their ids. */
  readonly seen: ReadonlyMap<string, SeenTemplate>;
  readonly onSaved: (template: SeenTemplate) => void;
}

export function SaveTemplate({ app, content, isOpen, onClose, origin, seen, onSaved }: SaveTemplateProps) {
  const listed = useQuery(allOf('listTemplates', { app })).data?.data;
  const [chosen, setChosen] = useState<SeenTemplate | null>((origin !== null && seen.get(origin)) || null);
  // A template that was deleted meanwhile takes no new version.
  const target = listed?.every(({ id }) => id !== chosen?.id) ? null : chosen;
  const [name, setName] = useState('');
  const save = useMutation({
    mutationFn: (over: SeenTemplate | null) =>
      over === null
        ? call('createTemplate', { app, body: { name: name.trim(), content } })
        : call('saveTemplate', {
            app,
            template: over.id,
            body: { name: over.name, content, updated_at: over.updated_at },
          }),
    onSuccess: async (stored) => {
      notifications.show({ message: `Saved as ${stored.name}, version ${stored.version}.` });
      onSaved(stored);
      onClose();
      await refresh(['listTemplates', 'getTemplate', 'getTemplateVersion'], { app });
    },
  });
  const choose = (id: string | null) => {
    // A template that was not opened counts as seen in its state in the list.
    setChosen((id !== null && (seen.get(id) ?? listed?.find((each) => each.id === id))) || null);
    save.reset();
  };
  const problem = save.error instanceof Problem ? save.error : undefined;
  const nameIssue = problem?.issues.find(({ path }) => path[0] === 'name')?.message;
  const present = problem?.isChangedMeanwhile ? (problem.present as Template) : undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(target);
  };
  return (
    <Modal opened={isOpen} onClose={onClose} title="Save as a template">
      <form onSubmit={submit}>
        <Stack>
          <TemplateChoice app={app} value={target?.id ?? null} onChange={choose} />
          {target === null && (
            <TextInput
              label="Name of the template"
              required
              maxLength={128}
              value={name}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
              error={nameIssue}
              data-autofocus
            />
          )}
          {present && save.variables ? (
            <ChangedMeanwhile
              app={app}
              content={content}
              seen={save.variables}
              present={present}
              onSave={() => save.mutate(present)}
            />
          ) : (
            save.error !== null && nameIssue === undefined && <ProblemPanel error={save.error} />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            {present === undefined && (
              <Button type="submit" loading={save.isPending} disabled={target === null && name.trim() === ''}>
                Save template
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

interface ChangedMeanwhileProps {
  readonly app: string;
  readonly content: Content;
  readonly seen: SeenTemplate;
  /** The template as somebody else saved it. */
  readonly present: Template;
  readonly onSave: () => void;
}

function ChangedMeanwhile({ app, content, seen, present, onSave }: ChangedMeanwhileProps) {
  const base = useAnswer('getTemplateVersion', { app, template: seen.id, version: String(seen.version) });
  const changesSince = (before: object) => {
    // The name is no field of this form, so it was not changed here.
    const mine: Record<string, unknown> = { name: seen.name, ...content };
    return changesOf<Record<string, unknown>>({ name: seen.name, ...before }, mine, {
      name: present.name,
      ...present.content,
    });
  };
  return (
    <Alert color="yellow" title="Somebody else saved this template meanwhile" role="alert">
      <p style={{ margin: 0 }}>
        {tellAuthor(present.changed_by)} saved it. Nothing of yours is lost, and nothing is saved yet.
      </p>
      <Loaded query={base}>{({ content: before }) => <ChangeList changes={changesSince(before)} />}</Loaded>
      <Button size="xs" variant="default" onClick={onSave}>
        Save mine as version {present.version + 1}
      </Button>
    </Alert>
  );
}
