// A message while it is composed: the partly filled request of POST /v1/messages. Drafts,
// duplicates and templates are this same object, so nothing is lost between them. Pure.
import type { Content, Message, MessageRequest } from '../../api/objects.ts';
import { channels } from '../../format.ts';

export type Channel = (typeof channels)[number];
export const textFields = ['title', 'subtitle', 'body', 'url', 'image'] as const;
export type TextField = (typeof textFields)[number];

export type Fields = Readonly<Record<string, unknown>>;

export interface Audience {
  readonly all?: true;
  readonly segment_id?: string;
  readonly filter?: unknown;
  readonly external_ids?: readonly string[];
  readonly device_ids?: readonly string[];
}
export const audienceKinds = ['all', 'segment_id', 'filter', 'external_ids', 'device_ids'] as const;
export type AudienceKind = (typeof audienceKinds)[number];

export interface MessageForm {
  readonly name?: string;
  readonly audience: Audience;
  readonly exclude_segment_id?: string | null;
  readonly content: Fields;
  readonly send_at?: string | null;
  readonly local_time?: boolean;
  readonly local_time_past?: 'refuse' | 'now' | 'skip';
  readonly per_second?: number | null;
  readonly metadata?: Fields | null;
}

export const emptyForm: MessageForm = { audience: { all: true }, content: {} };

/** Reads a stored message. Parts of another shape are left out. */
export function readForm(stored: unknown): MessageForm {
  const given = recordOf(stored);
  const audience = recordOf(given['audience']) as Audience;
  return {
    ...(given as unknown as MessageForm),
    audience: Object.keys(audience).length > 0 ? audience : emptyForm.audience,
    content: recordOf(given['content']),
  };
}

/**
 * The form of a duplicate of a message. The duplicate is sent now, to the audience's present
 * members, with the same exclusion.
 */
export function duplicateOf(message: Message): MessageForm {
  const { name, audience, exclude_segment_id: excluded, content, per_second: rate, metadata } = message;
  return {
    ...(name !== null && { name: `${name} (copy)`.slice(0, 128) }),
    audience: audience as Audience,
    ...(excluded !== null && { exclude_segment_id: excluded }),
    content: content as unknown as Fields,
    ...(rate !== null && { per_second: rate }),
    ...(metadata !== null && { metadata }),
  };
}

export function kindOf(audience: Audience): AudienceKind {
  return audienceKinds.find((kind) => audience[kind] !== undefined) ?? 'all';
}

/** The audience of another kind, empty until somebody fills it. */
export function audienceOf(kind: AudienceKind): Audience {
  switch (kind) {
    case 'all':
      return { all: true };
    case 'segment_id':
      return { segment_id: '' };
    case 'filter':
      return { filter: { and: [] } };
    case 'external_ids':
      return { external_ids: [] };
    case 'device_ids':
      return { device_ids: [] };
  }
}

/** Whether the audience is filled in, so that it can be counted. */
export function isNamed(audience: Audience): boolean {
  const { segment_id: segment, external_ids: people, device_ids: devices } = audience;
  if (segment !== undefined) return segment !== '';
  return (people ?? devices ?? ['all']).length > 0;
}

/** Ids as people paste them: one a line, or with commas, spaces and quotes between. */
export function readIds(text: string): string[] {
  const ids = text.split(/[\s,;]+/).map((each) => each.replaceAll(/^["']|["']$/g, ''));
  return [...new Set(ids.filter((each) => each !== ''))];
}

/** Pairs as people type them: `key = value`, one a line. Null: there is none. */
export function readPairs(text: string): Fields | null {
  const entries = text.split('\n').flatMap((line) => {
    const [key = '', ...rest] = line.split('=');
    return key.trim() === '' ? [] : [[key.trim(), scalarOf(rest.join('=').trim())] as const];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : null;
}

/** Writes pairs so that `readPairs` reads the same. Pure. */
export function writePairs(pairs: Fields | null | undefined): string {
  return Object.entries(pairs ?? {})
    .map(([key, value]) => `${key} = ${isPlain(value) ? value : JSON.stringify(value)}`)
    .join('\n');
}

/**
 * Whether a value can be read again unchanged. A browser changes line ends, and reading a line
 * trims spaces.
 */
const isPlain = (value: unknown): boolean => {
  const text = String(value);
  return scalarOf(text) === value && text === text.trim() && !/\p{Cc}/u.test(text);
};

/** Numbers and booleans keep their type; in quotes they are text. */
function scalarOf(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  if (/^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,6})?$/.test(text) || isNumber(text)) return Number(text);
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? unquote(text) : text;
}

const isNumber = (text: string): boolean => Number.isFinite(Number(text)) && String(Number(text)) === text;

/** Text in quotes has the escapes of JSON. Quotes without escapes are accepted too. */
function unquote(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text.slice(1, -1);
  }
}

/**
 * A part of the content: everything, one language, or one channel. It contains no space, because it
 * is part of the id of a tab's panel.
 */
export type Place = 'all' | `language-${string}` | Channel;

export const languagesOf = (content: Fields): string[] => Object.keys(recordOf(content['locales']));

export function fieldsAt(content: Fields, place: Place): Fields {
  if (place === 'all') return content;
  if (place.startsWith('language-')) return recordOf(recordOf(content['locales'])[tagOf(place)]);
  return recordOf(content[place]);
}

/** The value of a field in a place; undefined: no own value, null: removed there. */
export const valueAt = (content: Fields, place: Place, field: string): unknown => fieldsAt(content, place)[field];

export function textAt(content: Fields, place: Place, field: TextField): string | undefined {
  const text = valueAt(content, place, field);
  return typeof text === 'string' ? text : undefined;
}

/** Whether a place inherits this field: from the common value, or a channel from a language. */
export function isSaidAbove(content: Fields, place: Place, field: string): boolean {
  const above: readonly Place[] = isChannel(place)
    ? ['all', ...languagesOf(content).map((tag): Place => `language-${tag}`)]
    : ['all'];
  return above.some((each) => (valueAt(content, each, field) ?? null) !== null);
}

export const isChannel = (place: Place): place is Channel => (channels as readonly Place[]).includes(place);

/** Sets a field of a place. With undefined the place inherits the field again. */
export function withField(content: Fields, place: Place, field: string, value: unknown): Fields {
  const next = without(fieldsAt(content, place), field, value);
  if (place === 'all') return next;
  if (!place.startsWith('language-')) return without(content, place, Object.keys(next).length > 0 ? next : undefined);
  // A language without a text of its own stays, because its author added it.
  return { ...content, locales: { ...recordOf(content['locales']), [tagOf(place)]: next } };
}

/** The language whose texts a place holds; null for every other place. */
export function languageOf(place: Place): string | null {
  return place.startsWith('language-') ? tagOf(place) : null;
}

export function withLanguage(content: Fields, tag: string): Fields {
  return { ...content, locales: { ...recordOf(content['locales']), [tag]: {} } };
}

export function withoutPlace(content: Fields, place: Place): Fields {
  if (!place.startsWith('language-')) return without(content, place, undefined);
  const locales = without(recordOf(content['locales']), tagOf(place), undefined);
  return without(content, 'locales', Object.keys(locales).length > 0 ? locales : undefined);
}

/** The number of fields in which a place differs. */
export const differencesAt = (content: Fields, place: Place): number => Object.keys(fieldsAt(content, place)).length;

export const tagOf = (place: Place): string => place.slice('language-'.length);

/** The path of a field in the request, as issues name it. */
export function pathOf(place: Place, field: string): readonly string[] {
  if (place === 'all') return ['content', field];
  return place.startsWith('language-') ? ['content', 'locales', tagOf(place), field] : ['content', place, field];
}

/**
 * The content in a request. A language without any text is kept, because its readers get the common
 * text and not the text of the bare language.
 */
export const contentOf = (form: MessageForm): Content => form.content as unknown as Content;

/** Whether no text is written yet, in any language. */
export const isEmptyContent = (content: Fields): boolean =>
  Object.entries(content).every(
    ([name, value]) =>
      (value ?? null) === null ||
      (name === 'locales' && languagesOf(content).every((tag) => differencesAt(content, `language-${tag}`) === 0)),
  );

/** The request of the form. Times without a schedule are omitted. */
export function requestOf(form: MessageForm): MessageRequest {
  const { name, audience, exclude_segment_id: excluded, send_at: at, per_second: rate, metadata } = form;
  return {
    audience: audience as MessageRequest['audience'],
    content: contentOf(form),
    ...(name && { name }),
    ...(excluded && { exclude_segment_id: excluded }),
    ...(metadata && { metadata: metadata as MessageRequest['metadata'] }),
    ...(rate && { per_second: rate }),
    ...(at && {
      send_at: at,
      ...(form.local_time && { local_time: true, local_time_past: form.local_time_past ?? 'refuse' }),
    }),
  };
}

/**
 * The text of the field for an instant: `2026-12-01T09:00`. A local time keeps its written hour.
 * Any other instant is shown by the browser's clock, whatever its offset.
 */
export function toWallClock(instant: string | null | undefined, isLocal: boolean): string {
  if (!instant || isLocal) return (instant ?? '').slice(0, 16);
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/**
 * A time of the browser's clock, with the offset of that time. An hour that this clock skips
 * becomes the next one. In a local time it is kept, because other clocks have that hour.
 */
export function fromWallClock(text: string, isLocal: boolean): string | null {
  const at = new Date(text);
  if (text === '' || Number.isNaN(at.getTime())) return null;
  const minutes = -at.getTimezoneOffset();
  const two = (value: number): string => String(value).padStart(2, '0');
  const offset = `${minutes < 0 ? '-' : '+'}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
  const wall = isLocal ? text.slice(0, 16) : new Date(at.getTime() + minutes * 60_000).toISOString().slice(0, 16);
  return `${wall}:00${offset}`;
}

function without(fields: Fields, field: string, value: unknown): Fields {
  const { [field]: _former, ...rest } = fields;
  return value === undefined ? rest : { ...fields, [field]: value };
}

export function recordOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}
