// The area Webhooks: endpoints that are told of outcomes. A secret is shown once, by the answer
// that makes it. The operations are those of the command line.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import { invalid, notFound } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import {
  component,
  count,
  deviceId,
  exampleOf,
  idSchema,
  instant,
  instantText,
  list,
  messageId,
  pageComponent,
  text,
} from '../../ground/http/schemas.ts';
import { decodeId, encodeId } from '../../ground/values/ids.ts';
import { replayEvents } from '../../sending/delivery/replay-events.ts';
import {
  createWebhook,
  disableWebhook,
  editWebhook,
  enableWebhook,
  finishRotation,
  removeWebhook,
  rotateSecret,
  testWebhook,
} from '../../sending/webhooks/manage-webhooks.ts';
import { presentAttempt } from '../../sending/webhooks/present-attempt.ts';
import {
  countHeldEvents,
  findWebhook,
  listAttempts,
  listWebhooks,
  type StoredWebhook,
} from '../../sending/webhooks/queries.ts';
import { eventKinds, subscribedKinds } from '../../sending/webhooks/webhook.ts';
import { findApp } from '../../teams/apps/queries.ts';
import { type AreaDeps, routesOfApp, routesOfOrganisation } from './area.ts';
import { type ConsoleCaller, refuseSuspended } from './caller.ts';
import { pageOf, searchedListQuery } from './list.ts';
import { isOwnApp } from './own-app.ts';
import { appId, checkSeen, done, seenAt } from './schemas.ts';

const webhookId = component('WebhookId', idSchema('whk'));
const eventKind = component('EventKind', z.enum(eventKinds));
/** The most kinds in a request, where a kind may be repeated. */
const kinds = list(eventKind, { most: 50 });
const testResult = component(
  'WebhookTest',
  z.strictObject({
    at: instant,
    status_code: z.int().nullable(),
    error: z.string().nullable(),
    duration_ms: z.number(),
  }),
  { at: '2026-11-21T10:15:30.123Z', status_code: 200, error: null, duration_ms: 48 },
);
const webhookFields = {
  id: webhookId,
  app_id: appId,
  endpoint: z.string(),
  events: z.array(eventKind).describe('Empty: all.'),
  state: z.enum(['enabled', 'disabled']),
  consecutive_failures: count,
  held_events: count.describe('Events that wait to be told; counted up to 10,000.'),
  rotation: z
    .strictObject({ created_at: instant, finish_at: instant.nullable(), dual: z.boolean() })
    .nullable()
    .describe('A new secret is pending; the present one signs.'),
  last_test: testResult.nullable(),
  created_at: instant,
  updated_at: instant,
};
const stateExample = {
  id: 'whk_2LzZ6blcUnSsq7qADFk27Q',
  app_id: 'app_02y9GVDsTuJUi2BOoCH5G3',
  endpoint: 'https://hooks.shop.example/push',
  events: [],
  state: 'enabled',
  consecutive_failures: 0,
  rotation: null,
  last_test: null,
  created_at: '2026-11-21T10:15:30.123Z',
  updated_at: '2026-11-21T10:15:30.123Z',
} as const;
const webhook = component('Webhook', z.strictObject(webhookFields), { ...stateExample, held_events: 0 });
export const webhookState = component('WebhookState', webhook.omit({ held_events: true }), stateExample);
const secretField = { secret: z.string().describe('Shown this once.') };
const endpoint = text(2048, 1);
const attempt = component(
  'WebhookAttempt',
  z.strictObject({
    at: instant,
    event: eventKind,
    event_id: component('WebhookEventId', idSchema('whe')),
    message_id: messageId,
    device_id: deviceId,
    attempt: z.int().min(1),
    status_code: z.int().nullable(),
    error: z.string().nullable(),
    duration_ms: count,
  }),
);

const ofApp = routesOfApp('Webhooks');
const own = routesOfOrganisation<'webhook'>('Webhooks', {
  params: { webhook: { description: 'The id of a webhook.', example: 'whk_2LzZ6blcUnSsq7qADFk27Q' } },
});

export const appWebhookRoutes = [
  ofApp('listWebhooks', 'GET /webhooks', {
    least: 'viewer',
    summary: 'List the webhooks of an app',
    query: searchedListQuery('An id, or the beginning of an endpoint.'),
    answers: ok('Oldest first; an app has at most 10.', pageComponent('WebhookList', webhook)),
  }).handle(async ({ sql, cursors }, { caller, query }) =>
    pageOf(cursors, await listWebhooks(sql, caller.app.id), query, {
      scope: ['webhooks', caller.app.id],
      keyOf: ({ id }) => [id],
      idOf: ({ id }) => encodeId('whk', id),
      textsOf: ({ endpoint: url }) => [url],
      present: (one) => present(one, one.heldEvents),
    }),
  ),
  ofApp('createWebhook', 'POST /webhooks', {
    least: 'admin',
    summary: 'Make a webhook',
    body: component('NewWebhook', z.strictObject({ endpoint, events: kinds.default([]) }), {
      endpoint: 'https://hooks.shop.example/push',
      events: [],
    }),
    answers: ok(
      'The webhook and the secret that signs its requests.',
      component('MadeWebhook', z.strictObject({ ...webhookFields, ...secretField }), {
        ...exampleOf(webhook),
        secret: 'whsec_…',
      }),
    ),
  }).handle(async (deps, { caller, body }) => {
    const made = await createWebhook(changing(deps, caller), deps.posts.rules, { ...body, appId: caller.app.id });
    return { ...(await read(deps.sql, made.id)), secret: made.secret };
  }),
];

export const webhookRoutes = [
  own('getWebhook', 'GET /webhooks/:webhook', {
    least: 'viewer',
    summary: 'Read a webhook',
    answers: ok('The webhook.', webhook),
  }).handle(async ({ sql }, { caller, params }) => read(sql, (await getOwn(sql, caller, params.webhook)).id)),
  own('editWebhook', 'PATCH /webhooks/:webhook', {
    least: 'admin',
    summary: 'Change the endpoint or the events of a webhook',
    body: component(
      'WebhookEdit',
      z.strictObject({ updated_at: seenAt, endpoint: endpoint.optional(), events: kinds.optional() }),
      { updated_at: '2026-11-21T10:15:30.123Z', events: ['message.failed'] },
    ),
    answers: ok('The webhook as it is now.', webhook),
    refusals: ['changed_meanwhile'],
  }).handle(async (deps, { caller, params, body }) => {
    const found = await getOwn(deps.sql, caller, params.webhook);
    const { updated_at: seen, ...edit } = body;
    const heldEvents = await countHeldEvents(deps.sql, found.appId, found.id);
    await editWebhook(changing(deps, caller), deps.posts.rules, found, edit, (stored) =>
      checkSeen(seen, stored.updatedAt, () => present(stored, heldEvents)),
    );
    return read(deps.sql, found.id);
  }),
  own('deleteWebhook', 'DELETE /webhooks/:webhook', {
    least: 'admin',
    summary: 'Delete a webhook with its events',
    answers: ok('Deleted.', done),
  }).handle(async (deps, { caller, params }) => {
    await removeWebhook(changing(deps, caller), await getOwn(deps.sql, caller, params.webhook));
    return { done: true as const };
  }),
  ...(['enable', 'disable'] as const).map((word) =>
    own(`${word}Webhook`, `POST /webhooks/:webhook/${word}`, {
      least: 'admin',
      summary:
        word === 'enable'
          ? 'Call a webhook again: first one probe, then the held events'
          : 'Stop calling a webhook; its events are held for 72 hours',
      answers: ok('The webhook.', webhook),
    }).handle(async (deps, { caller, params }) => {
      const found = await getOwn(deps.sql, caller, params['webhook'] ?? '');
      await (word === 'enable' ? enableWebhook : disableWebhook)(changing(deps, caller), found);
      return read(deps.sql, found.id);
    }),
  ),
  own('testWebhook', 'POST /webhooks/:webhook/test', {
    least: 'admin',
    summary: 'Send one signed request, which counts neither as failure nor as success',
    answers: ok("The endpoint's answer.", testResult),
    refusals: ['app_suspended'],
  }).handle(async (deps, request) => {
    const { sql, clock, seal, posts } = deps;
    const found = await getOwn(sql, request.caller, request.params.webhook);
    const app = await findApp(sql, found.appId);
    if (app) refuseSuspended({ app });
    return request.aside(() => testWebhook({ sql: deps.txSql, clock, seal, by: request.caller.by, ...posts }, found));
  }),
  own('rotateWebhookSecret', 'POST /webhooks/:webhook/rotate', {
    least: 'admin',
    summary: 'Make a new secret, which signs once the rotation is finished',
    body: component(
      'WebhookRotation',
      z.strictObject({ finish_at: instantText.nullable().optional(), dual: z.boolean().default(false) }),
      { dual: true },
    ),
    answers: ok(
      'The webhook and the pending secret.',
      component('RotatedWebhook', z.strictObject({ ...webhookFields, ...secretField }), {
        ...exampleOf(webhook),
        secret: 'whsec_…',
      }),
    ),
  }).handle(async (deps, { caller, params, body }) => {
    const found = await getOwn(deps.sql, caller, params.webhook);
    const finishAt = body.finish_at ? new Date(body.finish_at) : null;
    const secret = await rotateSecret(changing(deps, caller), found, { finishAt, isDual: body.dual });
    return { ...(await read(deps.sql, found.id)), secret };
  }),
  own('finishWebhookRotation', 'POST /webhooks/:webhook/rotate/finish', {
    least: 'admin',
    summary: 'Let the new secret alone sign',
    answers: ok('The webhook.', webhook),
  }).handle(async (deps, { caller, params }) => {
    const found = await getOwn(deps.sql, caller, params.webhook);
    if (!(await finishRotation(changing(deps, caller), found))) {
      throw invalid([{ path: [], code: 'invalid_value', message: 'No new secret is pending.' }]);
    }
    return read(deps.sql, found.id);
  }),
  own('replayWebhook', 'POST /webhooks/:webhook/replay', {
    least: 'admin',
    summary: 'Send the events of a period again, from the deliveries that are kept',
    body: component('Replay', z.strictObject({ from: instantText, to: instantText, events: kinds.default([]) }), {
      from: '2026-11-21T00:00:00.000Z',
      to: '2026-11-22T00:00:00.000Z',
      events: [],
    }),
    answers: ok(
      'How many events were queued; `complete` is false when something stopped the replay.',
      component('Replayed', z.strictObject({ queued: count, queued_before: count, complete: z.boolean() }), {
        queued: 120,
        queued_before: 0,
        complete: true,
      }),
    ),
  }).handle(async (deps, request) => {
    const { caller, params, body } = request;
    const found = await getOwn(deps.sql, caller, params.webhook);
    const [from, to] = [new Date(body.from), new Date(body.to)];
    if (from >= to) throw invalid([{ path: ['from'], code: 'invalid_value', message: 'from must be before to.' }]);
    if (found.state === 'disabled') {
      const message = 'A disabled webhook is not called: enable it first.';
      throw invalid([{ path: [], code: 'invalid_value', message }]);
    }
    const subscribed = subscribedKinds(found.events);
    if (body.events.length > 0 && !body.events.some((kind) => subscribed.includes(kind))) {
      const message = `The webhook is told of ${subscribed.join(', ')} only.`;
      throw invalid([{ path: ['events'], code: 'invalid_value', message, allowed: subscribed }]);
    }
    const { txSql, clock, ledger } = deps;
    const replay = { sql: txSql, clock, ledger, by: caller.by };
    const done = await request.aside(() =>
      replayEvents(replay, found, { from, to, kinds: body.events, onProgress: deps.onReplayed }),
    );
    return { queued: done.queued, queued_before: done.queuedBefore, complete: done.stop === undefined };
  }),
  own('listWebhookAttempts', 'GET /webhooks/:webhook/attempts', {
    least: 'viewer',
    summary: 'The last requests to a webhook, at most 50',
    answers: ok(
      'Newest first.',
      component('WebhookAttemptList', z.strictObject({ data: z.array(attempt) }), { data: [] }),
    ),
  }).handle(async ({ sql }, { caller, params }) => {
    const found = await getOwn(sql, caller, params.webhook);
    return { data: (await listAttempts(sql, found.appId, found.id)).map(presentAttempt) };
  }),
];

function changing({ txSql, clock, seal }: Pick<AreaDeps, 'txSql' | 'clock' | 'seal'>, { by }: ConsoleCaller) {
  return { sql: txSql, clock, seal, by };
}

async function getOwn(sql: Sql, caller: ConsoleCaller, text: string): Promise<StoredWebhook> {
  const id = decodeId('whk', text);
  const found = id && (await findWebhook(sql, id));
  if (found && (await isOwnApp(sql, caller, found.appId))) return found;
  throw notFound(`No webhook ${text.slice(0, 80)} in this organisation.`);
}

async function read(sql: Sql, id: string) {
  const found = await findWebhook(sql, id);
  if (!found) throw notFound('The webhook was deleted meanwhile.');
  return present(found, await countHeldEvents(sql, found.appId, found.id));
}

function present(one: StoredWebhook, heldEvents: number) {
  const { rotation, last_test, created_at, updated_at, ...head } = presentState(one);
  return { ...head, held_events: heldEvents, rotation, last_test, created_at, updated_at };
}

/** Shapes a webhook without the number of its events, which has to be counted. */
export function presentState(one: StoredWebhook) {
  const { pendingSince, finishAt, isDual } = one;
  return {
    id: encodeId('whk', one.id),
    app_id: encodeId('app', one.appId),
    endpoint: one.endpoint,
    events: subscribedNames(one.events),
    state: one.state,
    consecutive_failures: one.failures,
    rotation: pendingSince && { created_at: pendingSince, finish_at: finishAt, dual: isDual },
    last_test: (one.lastTest ?? null) as z.output<typeof testResult> | null,
    created_at: one.createdAt,
    updated_at: one.updatedAt,
  };
}

/** The kinds as they were chosen. An empty choice stands for all. */
function subscribedNames(events: readonly string[]) {
  return eventKinds.filter((kind) => events.includes(kind));
}
