// How the message will look: each screen drawn with the text that the service renders and cuts, for
// a chosen user and language, in light and dark.
import { SegmentedControl, Select, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQueries } from '@tanstack/react-query';
import { useState } from 'react';
import { Problem } from '../../api/client.ts';
import type { Content, RenderedMessage } from '../../api/objects.ts';
import { queryOf } from '../../api/queries.ts';
import { useApp } from '../../api/session.ts';
import { channelNames, channels, languageName } from '../../format.ts';
import { Card } from '../../ui/card.tsx';
import { DrawnScreen } from './drawn-screen.tsx';
import { type Channel, type Fields, isEmptyContent, languagesOf } from './message-form.ts';
import { useDeferred } from './use-deferred.ts';

export interface Reader {
  readonly externalId: string;
  readonly language: string | null;
}

export interface Rendering {
  readonly byChannel: Readonly<Partial<Record<Channel, RenderedMessage>>>;
  readonly error: unknown;
  readonly isMoving: boolean;
}

const typingPauseMs = 120;
/** A single change is rendered at once, and a series of changes when it pauses. */
const asksAtOnce = { leading: true };

/** Renders the content for a reader on every channel. An older question is canceled. */
export function useRendering(app: string, content: Content, { externalId, language }: Reader): Rendering {
  const wanted = JSON.stringify({
    content,
    ...(externalId !== '' && { external_id: externalId }),
    ...(language !== null && { language }),
  });
  const [asked] = useDebouncedValue(wanted, typingPauseMs, asksAtOnce);
  const isEmpty = isEmptyContent(content as Fields);
  const results = useQueries({
    queries: channels.map((channel) => ({
      ...queryOf('renderMessage', { app, body: { ...JSON.parse(asked), channel } }),
      enabled: !isEmpty,
      retry: false,
      staleTime: 10_000,
      placeholderData: keepPreviousData,
    })),
  });
  const known = channels.flatMap((channel, place) => {
    const data = results[place]?.data;
    return data && !isEmpty ? [[channel, data] as const] : [];
  });
  return {
    byChannel: Object.fromEntries(known),
    error: isEmpty ? null : (results.find(({ error }) => error)?.error ?? null),
    isMoving: asked !== wanted || results.some(({ isFetching }) => isFetching),
  };
}

const alternatives = new Intl.ListFormat('en', { type: 'disjunction' });
const listed = (names: readonly string[]): string => alternatives.format(names);

const trimmed = (text: string): string => text.trim();

const reasons: Readonly<Record<RenderedMessage['result'], string | null>> = {
  shown: null,
  background: 'Shows nothing: the app gets it in the background.',
  badge: 'Shows no text: it sets the badge or plays the sound.',
  empty_content: 'Nothing would be sent to this user: title and body are both empty.',
  payload_too_large: 'Nothing would be sent to this user: the message is too large for this channel.',
  unknown_error: 'A text could not be rendered for this user.',
};

function whyNothing(error: unknown): string {
  if (!(error instanceof Problem)) return 'Type a title or a body to see how it will look.';
  if (error.status === 404) return 'Choose another user, or nobody.';
  return error.status === 400 ? 'The preview waits until the text is valid.' : error.message;
}

interface PreviewsProps {
  readonly rendering: Rendering;
  readonly reader: Reader;
  readonly onReader: (reader: Reader) => void;
  readonly content: Readonly<Record<string, unknown>>;
}

export function Previews({ rendering, reader, onReader, content }: PreviewsProps) {
  const { name } = useApp();
  const [isDark, setDark] = useState(false);
  const user = useDeferred(reader.externalId, (text) => onReader({ ...reader, externalId: text.trim() }), trimmed);
  const languages = languagesOf(content);
  const known = Object.entries(rendering.byChannel) as [Channel, RenderedMessage][];
  const missing = known[0]?.[1].variables.filter(({ value }) => value === null) ?? [];
  return (
    <Card
      title="Preview"
      actions={
        <SegmentedControl
          size="xs"
          aria-label="Theme of the preview"
          value={isDark ? 'dark' : 'light'}
          onChange={(next) => setDark(next === 'dark')}
          data={[
            { value: 'light', label: 'Light' },
            { value: 'dark', label: 'Dark' },
          ]}
        />
      }
    >
      <div className="stack" style={{ gap: 12 }}>
        <div className="compose-reader">
          <TextInput
            label="As this user sees it"
            placeholder="External id"
            value={user.text}
            maxLength={256}
            onBlur={user.settle}
            onChange={({ currentTarget }) => user.set(currentTarget.value)}
            error={
              rendering.error instanceof Problem && rendering.error.status === 404 ? 'There is no such user.' : null
            }
          />
          <Select
            label="In this language"
            value={reader.language ?? ''}
            data={[
              { value: '', label: 'Their own' },
              ...languages.map((tag) => ({ value: tag, label: languageName(tag) })),
            ]}
            onChange={(next) => onReader({ ...reader, language: next || null })}
          />
        </div>
        {missing.length > 0 && (
          <p className="muted" style={{ margin: 0 }}>
            {reader.externalId === '' ? 'No user is chosen, so there is no ' : 'This user has no '}
            {listed(missing.map(({ name }) => name))}.
          </p>
        )}
        {known.length === 0 ? (
          <p className="muted" style={{ margin: 0 }}>
            {whyNothing(rendering.error)}
          </p>
        ) : (
          <div className="screens" data-dark={isDark || undefined} aria-busy={rendering.isMoving}>
            {known.map(([channel, { result, screens, url }]) =>
              reasons[result] === null || screens.length > 0 ? (
                screens.map((screen) => (
                  <DrawnScreen key={screen.screen} view={screen} appName={name} url={url} warning={reasons[result]} />
                ))
              ) : (
                <p key={channel} className="muted" style={{ margin: 0 }}>
                  <strong>{channelNames[channel]}.</strong> {reasons[result]}
                </p>
              ),
            )}
          </div>
        )}
      </div>
    </Card>
  );
}
