// The area Compose. Sending, scheduling and the dry run are routes of /v1. The drawn preview is the
// console's own route.

import { z } from 'zod';
import { noSuch } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import { component, count, text } from '../../ground/http/schemas.ts';
import { decodeId, nilUuid } from '../../ground/values/ids.ts';
import { issueOf } from '../../ground/values/issue.ts';
import { channelIds } from '../../sending/channels/channel.ts';
import { contentSchema } from '../../sending/content/content.ts';
import { languageField } from '../../sending/content/locales.ts';
import { type RenderRequest, renderMessage } from '../../sending/messages/render-message.ts';
import { type CutText, screenNames } from '../../sending/messages/screens.ts';
import { sendRoutes } from '../../sending/messages/send-routes.ts';
import { type AreaDeps, routesOfApp } from './area.ts';
import { refuseSuspended } from './caller.ts';
import { lendRoutes } from './lent-route.ts';

const renderRequest = component(
  'RenderRequest',
  z
    .strictObject({
      content: contentSchema,
      channel: z.enum(channelIds),
      external_id: text(256, 1).nullish(),
      device_id: z.string().nullish(),
      language: languageField.nullish().describe('Replaces the language of the person.'),
    })
    .superRefine((given, context) => {
      if (!given.external_id || !given.device_id) return;
      const [message, allowed] = ['Name a user or a device, not both.', ['external_id', 'device_id']];
      context.issues.push(issueOf({ path: [], code: 'exactly_one_required', message, allowed }, given));
    }),
  {
    content: {
      title: 'Sale, {{first_name}}',
      body: 'Now on',
      locales: { de: { title: 'Ausverkauf, {{first_name}}', body: 'Ab jetzt' } },
    },
    channel: 'fcm',
    external_id: 'u-42',
  },
);
const cutText = component(
  'CutText',
  z.strictObject({
    text: z.string().describe('The whole text, as the device gets it.'),
    shown: z.string().describe('The text as the screen cuts it; ends in `…` where it is cut.'),
    length: count.describe('Characters as people count them.'),
    limit: count,
  }),
);
const whole = (text: string, limit: number): CutText => ({ text, shown: text, length: text.length, limit });
const rendered = component(
  'RenderedMessage',
  z.strictObject({
    channel: z.enum(channelIds),
    result: z
      .enum(['shown', 'background', 'badge', 'empty_content', 'payload_too_large', 'unknown_error'])
      .describe('`background` and `badge` show no text on a device; the last three: no push is made.'),
    language: z.string().nullable().describe('The language of the delivery.'),
    locale: z.string().nullable().describe('The entry of `content.locales` that is taken; null: the top level.'),
    url: z.string().nullable().describe('The address that a tap opens.'),
    payload_bytes: count.nullable(),
    payload_bytes_max: count,
    variables: z
      .array(z.strictObject({ name: z.string(), value: z.union([z.string(), z.number(), z.boolean()]).nullable() }))
      .describe('The values that the content reads. Null: this person has none.'),
    screens: z.array(
      z.strictObject({
        screen: z.enum(screenNames),
        title: cutText.nullable(),
        subtitle: cutText.nullable(),
        body: cutText.nullable(),
        image: z.string().nullable(),
        actions: z.array(cutText),
      }),
    ),
  }),
  {
    channel: 'fcm',
    result: 'shown',
    language: 'de',
    locale: 'de',
    url: 'https://shop.example/de/sale',
    payload_bytes: 312,
    payload_bytes_max: 4096,
    variables: [{ name: 'first_name', value: 'Zoë' }],
    screens: [
      {
        screen: 'android_shade',
        title: whole('Ausverkauf, Zoë', 65),
        subtitle: null,
        body: whole('Ab jetzt', 240),
        image: null,
        actions: [],
      },
    ],
  },
);

const route = routesOfApp('Compose');

export const composeAreaRoutes = [
  ...lendRoutes(sendRoutes, { sendMessage: 'member' }).map((lent) => ({
    ...lent,
    answer: (deps: AreaDeps, request: Parameters<typeof lent.answer>[1]) => {
      refuseSuspended(request.caller);
      return lent.answer(deps, request);
    },
  })),
  route('renderMessage', 'POST /render', {
    least: 'member',
    summary: 'Render content as each screen of a channel would show it; nothing is sent',
    description:
      'Rendered by the code that renders for a push, for a user, a device, or somebody without values. Screens cut by width, so `limit` is the length at which ordinary letters are cut.',
    body: renderRequest,
    answers: ok('The notification.', rendered),
  }).handle(async ({ sql }, { caller: { app }, body }) => {
    const { content, channel, external_id: externalId, device_id: deviceText, language = null } = body;
    const of: RenderRequest['of'] = deviceText
      ? { deviceId: decodeId('dev', deviceText) ?? nilUuid }
      : externalId
        ? { externalId }
        : null;
    const found = await renderMessage(sql, {
      appId: app.id,
      defaultUrl: app.defaultUrl,
      content,
      channel,
      of,
      language,
    });
    if (!found) throw deviceText ? noSuch('device', deviceText) : noSuch('user', externalId ?? '');
    const { payloadBytes, payloadBytesMax, ...rest } = found;
    return { channel, ...rest, payload_bytes: payloadBytes, payload_bytes_max: payloadBytesMax };
  }),
];
