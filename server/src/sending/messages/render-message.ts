// Renders content for one person as each screen of a channel would show it, by the same code that
// renders for a push. Sends nothing and stores nothing.

import type { Sql } from '@carillon/postgres';
import { encodeId, nilUuid, type Uuid } from '../../ground/values/ids.ts';
import { listDevicesOfUsers } from '../../people/audience/queries.ts';
import { presentProperties } from '../../people/properties/property.ts';
import { findPropertiesByKeys } from '../../people/properties/queries.ts';
import { findUserWithDevices, listShown } from '../../people/users/find-user.ts';
import { buildPayload as buildApplePayload } from '../channels/apns/payload.ts';
import { type ChannelId, channelOfPlatform, type Push } from '../channels/channel.ts';
import { apns, fcm, webpush } from '../channels/channels.ts';
import { buildMessage, payloadBytesOf } from '../channels/fcm/payload.ts';
import { buildPayload as buildWebPayload } from '../channels/webpush/payload.ts';
import { type CompiledContent, compileContent, type Rendered } from '../content/compile-content.ts';
import { type ChannelContent, type Content, pushKindOf } from '../content/content.ts';
import { createLocalePicker, languageOfDelivery } from '../content/locales.ts';
import type { Person } from '../content/template.ts';
import { withDefaultUrl } from '../delivery/push-under-way.ts';
import { listTargets } from '../delivery/targets.ts';
import { type CutText, cutText, type ScreenName, screensOf } from './screens.ts';

export interface RenderRequest {
  readonly appId: Uuid;
  readonly defaultUrl: string | null;
  readonly content: Content;
  readonly channel: ChannelId;
  /** The person; null: somebody without values. */
  readonly of: { readonly externalId: string } | { readonly deviceId: Uuid } | null;
  /** The language in place of the person's own, in canonical case. */
  readonly language: string | null;
}

/** A notification as one screen shows it. */
export interface ScreenView {
  readonly screen: ScreenName;
  readonly title: CutText | null;
  readonly subtitle: CutText | null;
  readonly body: CutText | null;
  readonly image: string | null;
  readonly actions: readonly CutText[];
}

export interface RenderedMessage {
  /**
   * `shown`, `background` (nothing is shown), `badge` (it sets the badge or plays the sound, without
   * a text), or the reason for which no push is made.
   */
  readonly result: 'shown' | 'background' | 'badge' | 'empty_content' | 'payload_too_large' | 'unknown_error';
  readonly language: string | null;
  /** The entry of `content.locales` that is taken; null: the top level. */
  readonly locale: string | null;
  /** The address that a tap opens. */
  readonly url: string | null;
  readonly payloadBytes: number | null;
  readonly payloadBytesMax: number;
  /** The person's values that the content reads. */
  readonly variables: readonly { readonly name: string; readonly value: string | number | boolean | null }[];
  readonly screens: readonly ScreenView[];
}

/**
 * Returns undefined when there is no such person or device. Throws for content without a schema.
 */
export async function renderMessage(sql: Sql, request: RenderRequest): Promise<RenderedMessage | undefined> {
  const { channel, content, defaultUrl } = request;
  const compiled = compileContent(content);
  const reader = await findReader(sql, request, compiled);
  if (!reader) return undefined;
  const { person } = reader;
  const language = request.language ?? languageOfDelivery(person.language, reader.locale);
  const rendered = compiled.render(channel, person, language);
  const shared = {
    language,
    locale: createLocalePicker(Object.keys(content.locales ?? {}))(language),
    payloadBytesMax: { webpush, apns, fcm }[channel].payloadBytesMax,
    variables: variablesOf(compiled, person),
  };
  if (rendered.kind !== 'content') {
    return { ...shared, result: refusalOf(rendered), url: null, payloadBytes: null, screens: [] };
  }
  const final = withDefaultUrl(channel, rendered.content, defaultUrl);
  const payloadBytes = payloadBytesFor(channel, final);
  const kind = pushKindOf(channel, final);
  return {
    ...shared,
    result: payloadBytes > shared.payloadBytesMax ? 'payload_too_large' : kind === 'empty' ? 'empty_content' : kind,
    url: final.url ?? null,
    payloadBytes,
    screens: kind === 'shown' ? viewsOf(channel, final) : [],
  };
}

function refusalOf(rendered: Exclude<Rendered, { kind: 'content' }>) {
  return rendered.kind === 'skip' ? rendered.reason : rendered.errorCode;
}

function viewsOf(channel: ChannelId, { title, subtitle, body, image, actions = [] }: ChannelContent): ScreenView[] {
  const cut = (text: string | undefined, limit: number | null): CutText | null =>
    text === undefined || limit === null ? null : cutText(text, limit);
  return screensOf[channel].map((screen) => ({
    screen: screen.name,
    title: cut(title, screen.title),
    subtitle: cut(subtitle, screen.subtitle),
    body: cut(body, screen.body),
    image: screen.showsImage ? (image ?? null) : null,
    actions: actions.slice(0, screen.actions.most).map((action) => cutText(action.title, screen.actions.title)),
  }));
}

/** Ids, receipt token and device token have the same lengths for every push of a channel. */
const receiptToken = 'x'.repeat(47);

function payloadBytesFor(channel: ChannelId, content: ChannelContent): number {
  const push: Push<unknown> = {
    credential: null,
    token: '',
    messageId: encodeId('msg', nilUuid),
    deviceId: encodeId('dev', nilUuid),
    receiptToken,
    clickUrl: null,
    content,
    ttlSeconds: content.ttl,
  };
  switch (channel) {
    case 'webpush':
      return buildWebPayload(push, false).length;
    case 'apns':
      return buildApplePayload(push).length;
    case 'fcm':
      return payloadBytesOf(buildMessage(push));
  }
}

function variablesOf({ attributes, propertyKeys }: CompiledContent, person: Person): RenderedMessage['variables'] {
  const values = {
    first_name: person.firstName,
    external_id: person.externalId,
    country: person.country,
    language: person.language,
    timezone: person.timezone,
  };
  return [
    ...[...attributes].map((name) => ({ name, value: values[name] })),
    ...[...propertyKeys].map((key) => ({
      name: `properties.${key}`,
      value: person.properties.get(key) ?? null,
    })),
  ];
}

interface Reader {
  readonly person: Person;
  /** The locale of the device; null without a device or a locale. */
  readonly locale: string | null;
}

const nobody: Reader = {
  locale: null,
  person: { firstName: null, externalId: null, country: null, language: null, timezone: null, properties: new Map() },
};

/**
 * A person is read through their newest device of the channel, as a send reads them. A person
 * without a device has the values of their profile.
 */
async function findReader(
  sql: Sql,
  { appId, of, channel }: RenderRequest,
  compiled: CompiledContent,
): Promise<Reader | undefined> {
  if (of === null) return nobody;
  const keys = [...compiled.propertyKeys];
  const columns = keys.length > 0 ? await findPropertiesByKeys(sql, appId, keys) : [];
  const ids =
    'deviceId' in of
      ? [of.deviceId]
      : listShown(of.externalId, await listDevicesOfUsers(sql, appId, [of.externalId])).slice(0, devicesAsked);
  const targets = await listTargets(sql, appId, ids, columns, compiled.attributes);
  const [newest] = ids;
  const target =
    targets.find(({ platform, isActive }) => isActive && channelOfPlatform[platform] === channel) ??
    targets.find(({ deviceId }) => deviceId === newest);
  if (target) return { person: target.person, locale: target.locale };
  return 'externalId' in of ? findProfile(sql, appId, of.externalId) : undefined;
}

/**
 * The newest devices are searched for one of the channel. The number is a guess: more than a person
 * has.
 */
const devicesAsked = 20;

async function findProfile(sql: Sql, appId: Uuid, externalId: string): Promise<Reader | undefined> {
  const found = await findUserWithDevices(sql, appId, externalId);
  if (!found) return undefined;
  const { firstName, country, language, timezone, properties } = found.user;
  const values = Object.entries(presentProperties(properties, found.catalog));
  return { locale: null, person: { firstName, externalId, country, language, timezone, properties: new Map(values) } };
}
