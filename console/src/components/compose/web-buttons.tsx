// The buttons of a web notification: at most two, each with its text, its address, its icon and the
// name by which the site knows it.
import { ActionIcon, Button } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { PlainText } from './field-input.tsx';
import { type Fields, fieldsAt, withField } from './message-form.ts';
import { TemplateText } from './template-text.tsx';
import type { Variable } from './variables.ts';

interface Action {
  readonly action: string;
  readonly title: string;
  readonly url?: string;
  readonly icon?: string;
}
const actionsMax = 2;

interface WebButtonsProps {
  readonly content: Fields;
  readonly onChange: (change: (content: Fields) => Fields) => void;
  readonly variables: readonly Variable[];
  readonly errorAt: (field: string) => string | undefined;
}

export function WebButtons({ content, onChange, variables, errorAt }: WebButtonsProps) {
  const read = (now: Fields): readonly Action[] => {
    const given = fieldsAt(now, 'webpush')['actions'];
    return Array.isArray(given) ? (given as Action[]) : [];
  };
  const actions = read(content);
  const write = (change: (before: readonly Action[]) => readonly Action[]) =>
    onChange((now) => {
      const next = change(read(now));
      return withField(now, 'webpush', 'actions', next.length > 0 ? next : undefined);
    });
  const edit = (place: number, fields: Partial<Action>) =>
    write((before) =>
      before.map((each, at) => {
        if (at !== place) return each;
        const { url, icon, ...rest } = { ...each, ...fields };
        return { ...rest, ...(url && { url }), ...(icon && { icon }) };
      }),
    );
  const free = ['button-1', 'button-2'].find((name) => actions.every(({ action }) => action !== name)) ?? 'button';
  return (
    <fieldset className="compose-actions">
      <legend>Buttons</legend>
      {errorAt('actions') && <p className="tone-bad compose-hint">{errorAt('actions')}</p>}
      {actions.map(({ action, title, url, icon }, place) => {
        const label = `Button ${place + 1}`;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a button is known by its place, because its name is typed.
          <div key={place} className="compose-button">
            <TemplateText
              label={label}
              value={title}
              onChange={(text) => edit(place, { title: text })}
              variables={variables}
              maxLength={128}
            />
            <TemplateText
              label={`${label} opens`}
              value={url ?? ''}
              onChange={(text) => edit(place, { url: text })}
              variables={variables}
              maxLength={2048}
              placeholder="As the message"
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              size="lg"
              aria-label={`Remove button ${place + 1}`}
              onClick={() => write((before) => before.filter((_each, at) => at !== place))}
            >
              <IconTrash size={16} aria-hidden />
            </ActionIcon>
            <PlainText
              label={`${label}: icon`}
              value={icon ?? ''}
              placeholder="https://shop.example/cart.png"
              maxLength={2048}
              onChange={(text) => edit(place, { icon: text })}
            />
            <PlainText
              label={`${label}: name for your site`}
              value={action}
              placeholder="button-1"
              maxLength={64}
              onChange={(text) => edit(place, { action: text })}
            />
          </div>
        );
      })}
      {actions.length < actionsMax && (
        <Button variant="default" size="xs" onClick={() => write((before) => [...before, { action: free, title: '' }])}>
          Add a button
        </Button>
      )}
    </fieldset>
  );
}
