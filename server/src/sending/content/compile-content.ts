// Prepares content for many devices. Each channel and language is merged and parsed once, then
// rendered per person. Content without templates is shared by every device, so it costs only a
// look-up. Never throws for a person.
import { isBlank } from './blank-text.ts';
import {
  type ChannelContent,
  type Content,
  type ContentChannel,
  contentChannels,
  type DataValue,
  dropsUrl,
  localesOf,
  mergeContent,
  type PushKind,
  pushKindOf,
  type WebAction,
} from './content.ts';
import { createLocalePicker } from './locales.ts';
import {
  type Person,
  parseTemplate,
  renderedLengthMax,
  type Template,
  type TemplateUse,
  type UsedVariables,
} from './template.ts';
import { type Attribute, hasTags } from './template-grammar.ts';

/** The result for one device. A skip and a failure concern that delivery alone. */
export type Rendered =
  | { readonly kind: 'content'; readonly content: ChannelContent }
  | { readonly kind: 'skip'; readonly reason: 'empty_content' }
  | { readonly kind: 'fail'; readonly errorCode: 'payload_too_large' | 'unknown_error'; readonly reason: string };

/** The addresses that a tap opens: of the notification, and of each action button. */
export interface TargetUrls {
  readonly url: string | null;
  /** Pairs of action and url. A missing action opens no address. */
  readonly actions: readonly (readonly [action: string, url: string])[];
}

export interface CompiledContent extends UsedVariables {
  readonly ttlSeconds: Readonly<Record<ContentChannel, number>>;
  /** The send window depends on this value (contract 7.5). */
  readonly largestTtlSeconds: number;
  /**
   * Whether webpush loses an app's own url in any language: the dry run's warning `url_dropped`.
   */
  readonly dropsUrl: boolean;
  /**
   * `language` is the language of the delivery (`languageOfDelivery`). Results may be shared between
   * devices: a caller must not change them.
   */
  render(channel: ContentChannel, person: Person, language: string | null): Rendered;
  /**
   * The urls of every delivery on this channel. Null when they differ by person or language; then
   * each delivery's row holds its own.
   */
  literalUrls(channel: ContentChannel): TargetUrls | null;
}

/** Thrown for stored content that does not satisfy `contentSchema`. */
export class ContentError extends Error {
  override readonly name = 'ContentError';
}

/** Parses every template of valid content. Throws `ContentError` where one is malformed. */
export function compileContent(content: Content): CompiledContent {
  const templates = new Templates();
  const locales = localesOf(content);
  const variantsOf = (channel: ContentChannel): Variants =>
    new Map(locales.map((locale) => [locale, prepare(channel, mergeContent(content, channel, locale), templates)]));
  const byChannel = { webpush: variantsOf('webpush'), apns: variantsOf('apns'), fcm: variantsOf('fcm') };
  const ttlOf = (channel: ContentChannel): number => mergeContent(content, channel, null).ttl;
  const ttlSeconds = { webpush: ttlOf('webpush'), apns: ttlOf('apns'), fcm: ttlOf('fcm') };
  const urls = {
    webpush: commonUrls(byChannel.webpush),
    apns: commonUrls(byChannel.apns),
    fcm: commonUrls(byChannel.fcm),
  };
  const pickLocale = createLocalePicker(Object.keys(content.locales ?? {}));
  return {
    attributes: templates.attributes,
    propertyKeys: templates.propertyKeys,
    ttlSeconds,
    largestTtlSeconds: Math.max(...contentChannels.map((channel) => ttlSeconds[channel])),
    dropsUrl: locales.some((locale) => dropsUrl(content, locale)),
    render(channel, person, language) {
      const variant = byChannel[channel].get(pickLocale(language));
      if (!variant) throw new Error('the picker chose a locale that the content does not have');
      return variant.literal ?? renderFor({ person, language }, variant);
    },
    literalUrls: (channel) => urls[channel],
  };
}

/** The urls of one rendered delivery. */
export function targetUrlsOf(content: ChannelContent): TargetUrls {
  const { url = null, actions = [] } = content;
  return {
    url,
    actions: actions.flatMap((action) => {
      const target = action.url ?? url;
      return target === null ? [] : [[action.action, target] as const];
    }),
  };
}

/**
 * The address that a click opens; `action` null stands for the notification itself. Null when the
 * click opens none, or the action is unknown.
 */
export function targetUrl(urls: TargetUrls, action: string | null): string | null {
  if (action === null) return urls.url;
  return urls.actions.find(([name]) => name === action)?.[1] ?? null;
}

type Variants = ReadonlyMap<string | null, Variant>;
type Part = string | Template;

/** The content of one channel in one language. */
interface Variant {
  /** The fields as merged. `texts`, `data` and `actions` replace those that hold templates. */
  readonly merged: ChannelContent;
  /** The finished result when no field has a template. */
  readonly literal: Rendered | null;
  readonly kind: PushKind;
  readonly texts: readonly (readonly [field: TextField, template: Template])[];
  readonly data: readonly (readonly [key: string, value: DataValue | Template])[] | null;
  readonly actions:
    | readonly { readonly action: WebAction; readonly title: Part; readonly url: Part | undefined }[]
    | null;
}

const textFields = { title: 'text', body: 'text', subtitle: 'text', url: 'url', image: 'url', icon: 'url' } as const;
type TextField = keyof typeof textFields;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * The templates of a message. Each text is parsed once, however many channels and languages share
 * it.
 */
class Templates {
  readonly attributes = new Set<Attribute>();
  readonly propertyKeys = new Set<string>();
  readonly #parsed: Readonly<Record<TemplateUse, Map<string, Template>>> = { text: new Map(), url: new Map() };

  /** The template, or the text itself when it has no tags. */
  part(source: string, use: TemplateUse): Part {
    if (!hasTags(source)) return source;
    const known = this.#parsed[use].get(source);
    if (known) return known;
    const parsed = parseTemplate(source, use);
    if (!parsed.ok) throw new ContentError(parsed.message);
    this.#parsed[use].set(source, parsed.template);
    for (const attribute of parsed.template.attributes) this.attributes.add(attribute);
    for (const key of parsed.template.propertyKeys) this.propertyKeys.add(key);
    return parsed.template;
  }
}

function prepare(channel: ContentChannel, merged: ChannelContent, templates: Templates): Variant {
  const texts: [TextField, Template][] = [];
  for (const field of Object.keys(textFields) as TextField[]) {
    const source = merged[field];
    const part = source === undefined ? '' : templates.part(source, textFields[field]);
    if (typeof part !== 'string') texts.push([field, part]);
  }
  const entries = Object.entries(merged.data ?? {}).map(
    ([key, value]) => [key, typeof value === 'string' ? templates.part(value, 'text') : value] as const,
  );
  const data = entries.some(([, value]) => typeof value === 'object') ? entries : null;
  const buttons = (merged.actions ?? []).map((action) => ({
    action,
    title: templates.part(action.title, 'text'),
    url: action.url === undefined ? undefined : templates.part(action.url, 'url'),
  }));
  const actions = buttons.some(({ title, url }) => typeof title === 'object' || typeof url === 'object')
    ? buttons
    : null;
  const kind = pushKindOf(channel, merged);
  const isLiteral = texts.length === 0 && data === null && actions === null;
  return {
    merged,
    literal: isLiteral ? finish({ ...merged }, kind) : null,
    kind,
    texts,
    data,
    actions,
  };
}

/** The person and the language of their delivery. */
interface Reader {
  readonly person: Person;
  readonly language: string | null;
}

function renderFor(reader: Reader, variant: Variant): Rendered {
  try {
    const content: Mutable<ChannelContent> = { ...variant.merged };
    for (const [field, template] of variant.texts) content[field] = bounded(template, reader);
    if (variant.data) content.data = renderData(variant.data, reader);
    if (variant.actions) {
      content.actions = variant.actions.map(({ action, title, url }) => ({
        ...action,
        title: bounded(title, reader),
        ...(url !== undefined && { url: bounded(url, reader) }),
      }));
    }
    return finish(content, variant.kind);
  } catch (error) {
    if (error instanceof TooLongError) return { kind: 'fail', errorCode: 'payload_too_large', reason: error.message };
    // liquidjs's own error text could contain a person's value.
    return { kind: 'fail', errorCode: 'unknown_error', reason: 'A template could not be rendered.' };
  }
}

/** Removes empty fields. Answers a skip when nothing is left of a push that has a text. */
function finish(content: Mutable<ChannelContent>, kind: PushKind): Rendered {
  // `delete` only where the field is empty: this runs for every push, and deleting an absent field
  // costs as much as deleting a present one.
  if (content.title !== undefined && isBlank(content.title)) delete content.title;
  if (content.body !== undefined && isBlank(content.body)) delete content.body;
  const hasText = content.title !== undefined || content.body !== undefined;
  if (kind === 'empty' || (kind === 'shown' && !hasText)) return { kind: 'skip', reason: 'empty_content' };
  if (content.subtitle === '') delete content.subtitle;
  if (content.icon === '') delete content.icon;
  return { kind: 'content', content };
}

class TooLongError extends Error {
  override readonly name = 'TooLongError';
}

function bounded(part: Part, { person, language }: Reader): string {
  if (typeof part === 'string') return part;
  const text = part.render(person, language);
  if (text.length > renderedLengthMax) {
    throw new TooLongError(`A personalized text came out longer than ${renderedLengthMax} characters.`);
  }
  return text;
}

function renderData(entries: NonNullable<Variant['data']>, reader: Reader): Record<string, DataValue> {
  // An object without a prototype, so that `__proto__` is a key like any other.
  const data: Record<string, DataValue> = Object.create(null);
  for (const [key, value] of entries) data[key] = typeof value === 'object' ? bounded(value, reader) : value;
  return data;
}

/** The urls of a channel when no template and no language changes them; otherwise null. */
function commonUrls(variants: Variants): TargetUrls | null {
  let common: { readonly urls: TargetUrls; readonly text: string } | null = null;
  for (const { merged, texts, actions } of variants.values()) {
    const isTemplated = texts.some(([field]) => field === 'url') || actions?.some(({ url }) => typeof url === 'object');
    if (isTemplated) return null;
    const urls = targetUrlsOf(merged);
    const text = JSON.stringify(urls);
    common ??= { urls, text };
    if (common.text !== text) return null;
  }
  return common?.urls ?? null;
}
