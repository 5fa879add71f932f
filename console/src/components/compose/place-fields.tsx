// The fields of one part of the content. A language and a channel may override a common value,
// remove it, or inherit it again.
import { ActionIcon, TextInput, Tooltip } from '@mantine/core';
import { IconArrowBackUp, IconBan } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import type { Issue } from '../../api/client.ts';
import { channelNames, languageName } from '../../format.ts';
import { moreFieldsAt, textLabels } from './content-fields.ts';
import { FieldInput } from './field-input.tsx';
import { Lengths } from './lengths.tsx';
import {
  type Fields,
  isChannel,
  isSaidAbove,
  type Place,
  pathOf,
  type TextField,
  tagOf,
  textAt,
  valueAt,
  withField,
} from './message-form.ts';
import type { Rendering } from './previews.tsx';
import { TemplateText } from './template-text.tsx';
import type { Variable } from './variables.ts';
import { WebButtons } from './web-buttons.tsx';

export interface PlaceFieldsProps {
  readonly place: Place;
  readonly content: Fields;
  /** Takes a function of the newest content, because fields report late. */
  readonly onChange: (change: (content: Fields) => Fields) => void;
  readonly variables: readonly Variable[];
  readonly rendering: Rendering;
  readonly issues: readonly Issue[];
}

const lengthMax: Readonly<Record<TextField, number>> = {
  title: 1024,
  subtitle: 1024,
  body: 4096,
  url: 2048,
  image: 2048,
};
const placeholders: Readonly<Partial<Record<TextField, string>>> = {
  url: 'https://shop.example/sale',
  image: 'https://shop.example/picture.png',
};

/** Only iPhones show a subtitle. */
const textsIn = (place: Place): readonly TextField[] =>
  place === 'apns' || place.startsWith('language-')
    ? ['title', 'subtitle', 'body', 'url', 'image']
    : ['title', 'body', 'url', 'image'];

export function PlaceFields(props: PlaceFieldsProps) {
  const { place, content, onChange, variables, rendering, issues } = props;
  const errorAt = (field: string): string | undefined => {
    const path = pathOf(place, field);
    return issues.find((issue) => path.every((step, at) => issue.path[at] === step))?.message;
  };
  const set = (field: string, value: unknown) => onChange((now) => withField(now, place, field, value));
  return (
    <div className="stack" style={{ gap: 12 }}>
      {place !== 'all' && <p className="muted compose-hint">{hintOf(place)}</p>}
      {textsIn(place).map((field) => {
        const label = textLabels[field];
        return (
          <OwnField key={field} content={content} place={place} name={field} label={label} isShared onSet={set}>
            <TemplateText
              label={label}
              value={textAt(content, place, field) ?? ''}
              // An empty field of a language or channel inherits the common value.
              onChange={(text) => set(field, text === '' ? undefined : text)}
              variables={variables}
              maxLength={lengthMax[field]}
              rows={field === 'body' ? 4 : 1}
              placeholder={
                place === 'all' ? placeholders[field] : (textAt(content, 'all', field) ?? placeholders[field])
              }
              error={errorAt(field)}
              below={
                field === 'title' || field === 'body' ? (
                  <Lengths rendering={rendering} part={field} channel={isChannel(place) ? place : null} />
                ) : undefined
              }
            />
          </OwnField>
        );
      })}
      {place === 'webpush' && (
        <WebButtons content={content} onChange={onChange} variables={variables} errorAt={errorAt} />
      )}
      <MoreFields place={place} content={content} variables={variables} errorAt={errorAt} onSet={set} />
    </div>
  );
}

interface MoreFieldsProps {
  readonly place: Place;
  readonly content: Fields;
  readonly variables: readonly Variable[];
  readonly errorAt: (field: string) => string | undefined;
  readonly onSet: (field: string, value: unknown) => void;
}

/** Fields that few messages need. They are folded away while none of them is set or wrong. */
function MoreFields({ place, content, variables, errorAt, onSet }: MoreFieldsProps) {
  const fields = moreFieldsAt(place);
  const set = fields.filter(({ name }) => valueAt(content, place, name) !== undefined).length;
  const [isOpen, setOpen] = useState(set > 0);
  if (fields.length === 0) return null;
  const isShown = isOpen || fields.some(({ name }) => errorAt(name) !== undefined);
  return (
    <details className="compose-more" open={isShown} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {place === 'all' ? 'Delivery, icon and data' : `More for ${channelNames[place as keyof typeof channelNames]}`}
        {set > 0 && <span className="muted"> · {set} set</span>}
      </summary>
      {isShown && (
        <div className="stack" style={{ gap: 12 }}>
          {fields.map((field) => (
            <OwnField key={field.name} content={content} place={place} {...field} onSet={onSet}>
              <FieldInput
                field={field}
                value={valueAt(content, place, field.name)}
                inherited={field.isShared ? valueAt(content, 'all', field.name) : undefined}
                variables={variables}
                error={errorAt(field.name)}
                onChange={(value) => onSet(field.name, value)}
              />
            </OwnField>
          ))}
        </div>
      )}
    </details>
  );
}

interface OwnFieldProps {
  readonly content: Fields;
  readonly place: Place;
  readonly name: string;
  readonly label: string;
  /** False: only this place has the field. */
  readonly isShared: boolean;
  readonly onSet: (field: string, value: unknown) => void;
  readonly children: ReactNode;
}

/**
 * A field that is inherited from other places, with buttons to inherit again and to remove it here.
 */
function OwnField({ content, place, name, label, isShared, onSet, children }: OwnFieldProps) {
  const own = valueAt(content, place, name);
  const isOverlay = isShared && place !== 'all';
  const act =
    own !== undefined
      ? { label: `${label}: same as everywhere`, tip: 'Same as everywhere', Icon: IconArrowBackUp, value: undefined }
      : { label: `${label}: none here`, tip: `None ${whereOf(place)}`, Icon: IconBan, value: null };
  const isOffered = isOverlay && (own !== undefined || isSaidAbove(content, place, name));
  return (
    <div className="overlay-field">
      <div>
        {isOverlay && own === null ? <TextInput label={label} readOnly value={`None ${whereOf(place)}`} /> : children}
      </div>
      {isOffered && (
        <Tooltip label={act.tip}>
          <ActionIcon variant="subtle" color="gray" aria-label={act.label} onClick={() => onSet(name, act.value)}>
            <act.Icon size={16} aria-hidden />
          </ActionIcon>
        </Tooltip>
      )}
    </div>
  );
}

function whereOf(place: Place): string {
  if (place === 'all') return 'anywhere';
  return isChannel(place) ? `on ${channelNames[place]}` : `in ${languageName(tagOf(place))}`;
}

function hintOf(place: Place): string {
  if (isChannel(place))
    return `${channelNames[place]} shows this instead, in every language. Empty fields stay as everywhere.`;
  return `Users whose language is ${languageName(tagOf(place))} see this. Empty fields stay as everywhere.`;
}
