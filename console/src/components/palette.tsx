// Ctrl or ⌘ K: finds a page, or an object by its id or by the beginning of its name. `?` shows the
// keys that work everywhere.
import { Button, Kbd, Modal, TextInput } from '@mantine/core';
import { useDebouncedValue, useDisclosure, useHotkeys } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useEffectEvent, useId, useMemo, useState } from 'react';
import { useNavigate } from 'react-router';
import { allowedFor, mayDo, type Role } from '../api/can.ts';
import { call } from '../api/client.ts';
import { ownKey, useAnswer, whole } from '../api/queries.ts';
import { useMay, useSession } from '../api/session.ts';
import { paths } from '../paths.ts';
import { pagesOfApp, pagesOfOrganisation, settingsPages } from './navigation.tsx';

interface Hit {
  readonly kind: string;
  readonly name: string;
  readonly note?: string | undefined;
  readonly to: string;
}

const isId = (text: string): boolean => /^[a-z]{3}_[0-9A-Za-z]{22}$/.test(text);

const isMac = /mac|iphone|ipad/i.test(navigator.userAgent);
export const commandKey = isMac ? '⌘' : 'Ctrl';

export function Palette({ appId }: { appId: string | undefined }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const { text, setText, isEntered } = useTypedText(isOpen);
  const [areKeysShown, keys] = useDisclosure(false);
  useHotkeys([['mod+K', open]], []);
  useHotkeys([['shift+?', keys.open]]);
  const navigate = useNavigate();
  const { may: maySend } = useMay('message.send');
  useHotkeys([['c', () => appId !== undefined && maySend && void navigate(paths.compose(appId))]]);
  return (
    <>
      <Button
        variant="default"
        onClick={open}
        leftSection={<IconSearch size={15} aria-hidden />}
        className="palette-button"
        styles={{ inner: { justifyContent: 'flex-start' } }}
      >
        <span className="palette-text muted">Search</span>
        <Kbd size="sm" className="only-wide" aria-hidden>
          {commandKey} K
        </Kbd>
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        withCloseButton={false}
        padding={0}
        size={600}
        yOffset="12vh"
        centered={false}
        title="Search"
        styles={{ header: { display: 'none' } }}
      >
        <Finder appId={appId} text={text} onText={setText} isEntered={isEntered} onDone={close} />
      </Modal>
      <Modal opened={areKeysShown} onClose={keys.close} title="Keyboard">
        <dl className="facts" style={{ gridTemplateColumns: 'max-content minmax(0, 1fr)' }}>
          {shortcuts.map(([key, act]) => (
            <div key={key} style={{ display: 'contents' }}>
              <dt>
                <Kbd>{key}</Kbd>
              </dt>
              <dd>{act}</dd>
            </div>
          ))}
        </dl>
      </Modal>
    </>
  );
}

const shortcuts = [
  [`${commandKey} K`, 'Search pages and objects'],
  ['C', 'Compose a message'],
  ['?', 'Show these keys'],
  ['↑ ↓', 'Move through a list'],
  ['Enter', 'Open the row in focus'],
  ['Esc', 'Close what is open'],
] as const;

/**
 * The text of the palette. Keys that are pressed after Ctrl K and before the field has the focus
 * are kept, because people type on without looking.
 */
function useTypedText(isOpen: boolean) {
  const [text, setText] = useState('');
  const [isEntered, setEntered] = useState(false);
  const keep = useEffectEvent((event: globalThis.KeyboardEvent) => {
    const isCommand = event.ctrlKey || event.metaKey || event.altKey || event.repeat;
    if (isCommand || document.activeElement?.hasAttribute('data-palette')) return;
    if (event.key.length === 1) setText((before) => before + event.key);
    else if (event.key === 'Enter' && text !== '' && !document.activeElement?.closest('.hits')) setEntered(true);
    else return;
    event.preventDefault();
  });
  useEffect(() => {
    if (!isOpen) return;
    window.addEventListener('keydown', keep, true);
    return () => {
      window.removeEventListener('keydown', keep, true);
      setText('');
      setEntered(false);
    };
  }, [isOpen]);
  return { text, setText, isEntered };
}

const pauseMs = 150;

interface FinderProps {
  readonly appId: string | undefined;
  readonly text: string;
  readonly onText: (text: string) => void;
  /** Enter was pressed before the field had the focus. */
  readonly isEntered: boolean;
  readonly onDone: () => void;
}

function Finder({ appId, text, onText, isEntered, onDone }: FinderProps) {
  const navigate = useNavigate();
  const listId = useId();
  const [at, setAt] = useState(0);
  const [asked] = useDebouncedValue(text.trim(), pauseMs);
  const { role } = useSession();
  const pages = useConsolePages(appId);
  const objects = useQuery({
    queryKey: ownKey('find', { app: appId, asked }),
    queryFn: ({ signal }) => findObjects(appId ?? '', asked, role, signal),
    enabled: appId !== undefined && asked.length > 0,
    placeholderData: (before) => before,
  });
  const wanted = text.trim().toLowerCase();
  const hits = [
    ...pages.filter(({ name }) => name.toLowerCase().includes(wanted)),
    ...(wanted === '' ? [] : (objects.data ?? [])),
  ].slice(0, 12);
  const choose = async (hit: Hit | undefined) => {
    if (!hit) return;
    onDone();
    await navigate(hit.to);
  };
  const chooseFirst = useEffectEvent(() => void choose(hits[0]));
  const isFound = hits.length > 0;
  useEffect(() => {
    if (isEntered && isFound) chooseFirst();
  }, [isEntered, isFound]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt((before) => Math.min(before + 1, hits.length - 1));
    else if (event.key === 'ArrowUp') setAt((before) => Math.max(before - 1, 0));
    else if (event.key === 'Enter') void choose(hits[at]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <TextInput
        aria-label="Search pages, messages, users, devices, segments, properties, events and webhooks"
        placeholder="Page, id, external id or name"
        leftSection={<IconSearch size={16} aria-hidden />}
        variant="unstyled"
        size="md"
        px="sm"
        py={6}
        value={text}
        maxLength={128}
        data-autofocus
        data-palette
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={hits[at] ? `${listId}-${at}` : undefined}
        onKeyDown={onKeyDown}
        // Kept keys come before the following ones.
        onFocus={({ currentTarget }) => currentTarget.setSelectionRange(text.length, text.length)}
        onChange={({ currentTarget }) => {
          onText(currentTarget.value);
          setAt(0);
        }}
      />
      <div id={listId} role="listbox" aria-label="Found" className="hits">
        {hits.map((hit, index) => (
          <div
            key={hit.kind + hit.to}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === at}
            tabIndex={-1}
            className="hit"
            onMouseMove={() => setAt(index)}
            onClick={() => void choose(hit)}
            onKeyDown={onKeyDown}
          >
            <span className="muted hit-kind">{hit.kind}</span>
            <span className={isId(hit.name) ? 'cell mono hit-name' : 'cell hit-name'}>{hit.name}</span>
            {hit.note !== undefined && (
              // A phone has room for the name alone.
              <span className={isId(hit.note) ? 'muted cell mono only-wide' : 'muted cell'}>{hit.note}</span>
            )}
          </div>
        ))}
        {hits.length === 0 && (
          <p className="muted" style={{ padding: '12px 16px', margin: 0 }}>
            {objects.isFetching ? 'Searching…' : 'Nothing has this id or begins with this text.'}
          </p>
        )}
      </div>
    </>
  );
}

function useConsolePages(appId: string | undefined): Hit[] {
  const { role } = useSession();
  const apps = useAnswer('listApps', whole).data?.data;
  return useMemo(() => {
    const own = [...(appId === undefined ? [] : pagesOfApp(appId)), ...pagesOfOrganisation];
    return [
      ...allowedFor(role, own).map(({ name, to }): Hit => ({ kind: 'Page', name, to })),
      ...(appId === undefined
        ? []
        : allowedFor(role, settingsPages).map(({ name, path }): Hit => ({ kind: 'Settings', name, to: path(appId) }))),
      ...(apps ?? []).map(({ id, name }): Hit => ({ kind: 'App', name, note: id, to: paths.overview(id) })),
      { kind: 'Page', name: 'Your account', to: paths.account },
    ];
  }, [appId, apps, role]);
}

const found = 4;

/** Asks the lists that the role may read; one that fails is left out. */
async function findObjects(app: string, q: string, role: Role, signal: AbortSignal): Promise<Hit[]> {
  const given = { app, q, limit: found };
  const options = { signal };
  const answers = await Promise.allSettled([
    hitsOf(call('listMessages', given, options), ({ id, name, title }) => ({
      kind: 'Message',
      name: name ?? title ?? id,
      note: id,
      to: paths.message(app, id),
    })),
    mayDo(role, 'user.read') &&
      hitsOf(call('listUsers', given, options), ({ external_id: id, first_name: name }) => ({
        kind: 'User',
        name: id,
        note: name ?? undefined,
        to: paths.user(app, id),
      })),
    mayDo(role, 'device.read') &&
      hitsOf(call('listDevices', given, options), ({ id, external_id: owner }) => ({
        kind: 'Device',
        name: id,
        note: owner ?? undefined,
        to: paths.device(app, id),
      })),
    hitsOf(call('listWebhooks', given, options), ({ id, endpoint }) => ({
      kind: 'Webhook',
      name: endpoint,
      note: id,
      to: paths.webhook(app, id),
    })),
    hitsOf(call('listSegments', given, options), ({ id, name }) => ({
      kind: 'Segment',
      name,
      note: id,
      to: paths.segment(app, id),
    })),
    hitsOf(call('listProperties', given, options), ({ key }) => ({
      kind: 'Property',
      name: key,
      to: paths.property(app, key),
    })),
    hitsOf(call('listEventNames', given, options), ({ name }) => ({ kind: 'Event', name, to: paths.event(app, name) })),
  ]);
  return answers.flatMap((answer) => (answer.status === 'fulfilled' && answer.value) || []);
}

async function hitsOf<Row>(
  answer: Promise<{ readonly data: readonly Row[] }>,
  hitOf: (row: Row) => Hit,
): Promise<Hit[]> {
  return (await answer).data.map(hitOf);
}
