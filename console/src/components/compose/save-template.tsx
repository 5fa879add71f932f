// Saves the content as a template: a new one, or a new version of one that is there.
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Problem } from '../../api/client.ts';
import type { Content } from '../../api/objects.ts';
import { createTemplate, getTemplate, saveTemplate } from '../../api/operations.ts';
import { queries, queryClient } from '../../api/queries.ts';
import { ProblemPanel } from '../problem.tsx';
import { TemplateChoice } from './library.tsx';

interface SaveTemplateProps {
  readonly app: string;
  readonly content: Content;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** The template that this message started from. */
  readonly origin: string | null;
}

export function SaveTemplate({ app, content, isOpen, onClose, origin }: SaveTemplateProps) {
  const [chosen, setTarget] = useState(origin);
  // A template that somebody deleted meanwhile takes no new version.
  const listed = useQuery(queries.allTemplates(app)).data?.data;
  const target = listed?.every(({ id }) => id !== chosen) ? null : chosen;
  const [name, setName] = useState('');
  const save = useMutation({
    mutationFn: async () => {
      if (target === null) return createTemplate(app, { name: name.trim(), content });
      const present = await getTemplate(app, target);
      return saveTemplate(app, target, { name: present.name, content, updated_at: String(present.updated_at) });
    },
    onSuccess: async (stored) => {
      notifications.show({ message: `Saved as ${stored.name}, version ${stored.version}.` });
      onClose();
      await queryClient.invalidateQueries({ queryKey: ['app', app, 'templates'] });
      await queryClient.invalidateQueries({ queryKey: ['app', app, 'template'] });
    },
  });
  const nameIssue =
    save.error instanceof Problem ? save.error.issues.find(({ path }) => path[0] === 'name')?.message : undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Modal opened={isOpen} onClose={onClose} title="Save as a template" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submit}>
        <Stack>
          <TemplateChoice app={app} value={target} onChange={setTarget} />
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
          {save.error !== null && nameIssue === undefined && <ProblemPanel error={save.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending} disabled={target === null && name.trim() === ''}>
              Save template
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
