// The content of a message: the texts for everybody, and beside them those of languages and
// channels.
import { Autocomplete, Button, Group, Tabs } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { channelNames, channels, languageName } from '../../format.ts';
import { Card } from '../../ui/card.tsx';
import { tellWithUndo } from '../tell-with-undo.tsx';
import {
  differencesAt,
  fieldsAt,
  isChannel,
  languagesOf,
  type Place,
  tagOf,
  withField,
  withLanguage,
  withoutPlace,
} from './message-form.ts';
import { PlaceFields, type PlaceFieldsProps } from './place-fields.tsx';

interface WhatProps extends PlaceFieldsProps {
  readonly onPlace: (place: Place) => void;
}

export function What({ content, onChange, variables, rendering, issues, place, onPlace }: WhatProps) {
  const languages = languagesOf(content);
  const places: readonly Place[] = ['all', ...languages.map((tag): Place => `language-${tag}`), ...channels];
  const shown = places.includes(place) ? place : 'all';
  const add = (tag: string) => {
    onChange((now) => withLanguage(now, tag));
    onPlace(`language-${tag}`);
  };
  const remove = (removed: Place) => {
    const texts = fieldsAt(content, removed);
    onChange((now) => withoutPlace(now, removed));
    onPlace('all');
    tellWithUndo(`${nameOf(removed)} is removed.`, () =>
      onChange((now) =>
        Object.entries(texts).reduce(
          (back, [field, text]) => withField(back, removed, field, text),
          withLanguage(now, tagOf(removed)),
        ),
      ),
    );
  };
  return (
    <Card title="What" actions={<AddLanguage known={languages} onAdd={add} />}>
      <Tabs value={shown} onChange={(next) => onPlace((next ?? 'all') as Place)} keepMounted={false}>
        <Tabs.List mb="md" className="compose-tabs">
          {places.map((each) => (
            <Tabs.Tab key={each} value={each}>
              {nameOf(each)}
              {each !== 'all' && differencesAt(content, each) > 0 && (
                <span className="tab-count">
                  {differencesAt(content, each)}
                  <span className="visually-hidden"> differ</span>
                </span>
              )}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={shown}>
          <PlaceFields
            key={shown}
            place={shown}
            content={content}
            onChange={onChange}
            variables={variables}
            rendering={rendering}
            issues={issues}
          />
          {shown.startsWith('language-') && (
            <Button
              mt="md"
              variant="subtle"
              color="gray"
              size="xs"
              leftSection={<IconTrash size={14} aria-hidden />}
              onClick={() => remove(shown)}
            >
              Remove {nameOf(shown)}
            </Button>
          )}
        </Tabs.Panel>
      </Tabs>
    </Card>
  );
}

function nameOf(place: Place): string {
  if (place === 'all') return 'Everywhere';
  return isChannel(place) ? channelNames[place] : languageName(tagOf(place));
}

/** Languages that people often add; any other tag may be typed. */
const usual = ['de', 'en', 'es', 'fr', 'it', 'ja', 'nl', 'pl', 'pt-BR', 'sv', 'tr', 'zh'];
const tagForm = /^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/;

function AddLanguage({ known, onAdd }: { known: readonly string[]; onAdd: (tag: string) => void }) {
  const [isOpen, setOpen] = useState(false);
  const [tag, setTag] = useState('');
  if (!isOpen) {
    return (
      <Button variant="default" size="xs" onClick={() => setOpen(true)}>
        Add a language
      </Button>
    );
  }
  const isKnown = known.some((each) => each.toLowerCase() === tag.trim().toLowerCase());
  const submit = (given: string) => {
    const wanted = given.trim();
    if (!tagForm.test(wanted) || isKnown) return;
    onAdd(wanted);
    setTag('');
    setOpen(false);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        submit(tag);
      }}
    >
      <Group gap="xs" align="start" wrap="nowrap">
        <Autocomplete
          aria-label="Language"
          placeholder="de, pt-BR"
          size="xs"
          w={120}
          data={usual.filter((each) => !known.includes(each))}
          renderOption={({ option }) => `${languageName(String(option.value))} (${option.value})`}
          comboboxProps={{ width: 208, position: 'bottom-end' }}
          value={tag}
          onChange={setTag}
          error={isKnown ? 'Is there' : null}
          data-autofocus
          autoFocus
        />
        <Button type="submit" size="xs" disabled={!tagForm.test(tag.trim()) || isKnown}>
          Add
        </Button>
      </Group>
    </form>
  );
}
