// `webhook …`: webhooks, their secrets, their last attempts. A secret is printed once, by the
// command that makes it.

import type { Command } from 'commander';
import type { Sql } from '../database/db.ts';
import { encodeId, type Uuid } from '../ground/ids.ts';
import { programName } from '../ground/program-name.ts';
import { createAddressGuard } from '../outbound/address-guard.ts';
import { createOutboundHttp } from '../outbound/http.ts';
import { createOutboundSockets } from '../outbound/socket.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import {
  createWebhook,
  disableWebhook,
  enableWebhook,
  finishRotation,
  removeWebhook,
  rotateSecret,
  testWebhook,
} from '../webhooks/manage-webhooks.ts';
import { presentAttempt } from '../webhooks/present-attempt.ts';
import { findWebhook, listAttempts, listWebhooks, type StoredWebhook } from '../webhooks/queries.ts';
import { eventKinds, kindOfNumber } from '../webhooks/webhook.ts';
import { type Answer, type AnswerOptions, answer, printable, table, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './context.ts';
import { endpointRulesOf } from './endpoint-rules.ts';
import { getApp } from './find-app.ts';
import { withWebhook } from './find-webhook.ts';
import { readTime } from './read-time.ts';
import { addReplayCommand } from './replay-webhook.ts';

export function addWebhookCommands(program: Command): void {
  const webhook = program.command('webhook').description('webhooks: requests that tell your server what happened');
  const collect = (kind: string, before: string[]): string[] => [...before, kind];
  withJson(webhook.command('create <APP> <URL>'))
    .description('make a webhook and print its secret, once')
    .option('--event <EVENT>', `one of ${eventKinds.join(', ')}; without it all of them`, collect, [])
    .action((app: string, url: string, options: AnswerOptions & { event: string[] }) =>
      answer(options, () => create(app, url, options.event)),
    );
  withJson(webhook.command('list <APP>'))
    .description('list the webhooks of an app')
    .action((app: string, options: AnswerOptions) => answer(options, () => list(app)));
  withJson(webhook.command('enable <ID>'))
    .description('call a webhook again: first one probe, then the held events')
    .action((id: string, options: AnswerOptions) => answer(options, () => change(id, enableWebhook)));
  withJson(webhook.command('disable <ID>'))
    .description('stop calling a webhook; its events are held for 72 hours')
    .action((id: string, options: AnswerOptions) => answer(options, () => change(id, disableWebhook)));
  withJson(webhook.command('delete <ID>'))
    .description('delete a webhook with its events')
    .action((id: string, options: AnswerOptions) => answer(options, () => remove(id)));
  withJson(webhook.command('attempts <ID>'))
    .description('show the last 50 requests to a webhook')
    .action((id: string, options: AnswerOptions) => answer(options, () => attempts(id)));
  withJson(webhook.command('test <ID>'))
    .description('send one signed request, which counts neither as failure nor as success')
    .action((id: string, options: AnswerOptions) => answer(options, () => test(id)));
  addReplayCommand(webhook);
  withJson(webhook.command('rotate <ID>'))
    .description('make a new secret, which signs once the rotation is finished')
    .option('--finish-at <TIME>', 'finish the rotation at this time, within 30 days')
    .option('--dual', 'sign with both secrets until the rotation is finished, the new one first')
    .action((id: string, options: AnswerOptions & { finishAt?: string; dual?: boolean }) =>
      answer(options, () => rotate(id, options.finishAt, options.dual === true)),
    );
  withJson(webhook.command('finish <ID>'))
    .description('end the rotation: erase the old secret, so that only the new one signs')
    .action((id: string, options: AnswerOptions) => answer(options, () => finish(id)));
}

async function create(appName: string, endpoint: string, events: readonly string[]): Promise<Answer> {
  const config = loadCommandConfig();
  return withDatabase(config, async (context) => {
    const app = await getApp(context.sql, appName);
    const deps = { ...context, seal: await context.loadSeal() };
    const made = await createWebhook(deps, endpointRulesOf(config), { appId: app.id, endpoint, events });
    const stored = await getStored(context.sql, made.id);
    return {
      document: { ...present(stored, 0), secret: made.secret },
      text: `${describe(stored)}\n\n  secret  ${made.secret}\n\nThe secret is shown this once: requests are signed with it.`,
    };
  });
}

async function list(appName: string): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async ({ sql }) => {
    const app = await getApp(sql, appName);
    const webhooks = await listWebhooks(sql, app.id);
    const rows = webhooks.map((one) => [
      encodeId('whk', one.id),
      one.state,
      String(one.failures),
      String(one.heldEvents),
      one.events.length === 0 ? 'all' : one.events.join(' '),
      one.endpoint,
    ]);
    return {
      document: { webhooks: webhooks.map((one) => present(one, one.heldEvents)) },
      text:
        rows.length === 0
          ? 'There is no webhook yet.'
          : table(['ID', 'STATE', 'FAILURES', 'WAITING', 'EVENTS', 'ENDPOINT'], rows),
    };
  });
}

type Change = (deps: Parameters<typeof enableWebhook>[0], webhook: StoredWebhook) => Promise<void>;

async function change(text: string, work: Change): Promise<Answer> {
  return withWebhook(text, async (context, webhook) => {
    await work({ ...context, seal: await context.loadSeal() }, webhook);
    const now = await getStored(context.sql, webhook.id);
    return { document: present(now, null), text: describe(now) };
  });
}

async function remove(text: string): Promise<Answer> {
  return withWebhook(text, async (context, webhook) => {
    await removeWebhook(context, webhook);
    const id = encodeId('whk', webhook.id);
    return { document: { id, deleted: true }, text: `${id} is gone, with its events.` };
  });
}

async function attempts(text: string): Promise<Answer> {
  return withWebhook(text, async ({ sql }, webhook) => {
    const rows = await listAttempts(sql, webhook.appId, webhook.id);
    const shown = rows.map((row) => [
      row.at.toISOString(),
      kindOfNumber(row.kind),
      String(row.attempt),
      String(row.statusCode ?? '-'),
      row.error ?? 'ok',
      `${row.durationMs} ms`,
      encodeId('msg', row.messageId),
      encodeId('dev', row.deviceId),
    ]);
    return {
      document: { attempts: rows.map(presentAttempt) },
      text:
        rows.length === 0
          ? 'It has not been called yet.'
          : table(['AT', 'EVENT', 'ATTEMPT', 'STATUS', 'RESULT', 'TOOK', 'MESSAGE', 'DEVICE'], shown),
    };
  });
}

async function test(text: string): Promise<Answer> {
  const config = loadCommandConfig();
  return withWebhook(text, async (context, webhook) => {
    const rules = endpointRulesOf(config);
    const http = createOutboundHttp(createOutboundSockets(createAddressGuard(rules)));
    try {
      const result = await testWebhook({ ...context, seal: await context.loadSeal(), http, rules }, webhook);
      const said = result.status_code === null ? 'no answer' : `status ${result.status_code}`;
      const line = `${said}, ${result.duration_ms} ms`;
      return {
        document: result,
        text: line,
        ...(result.error !== null && { problem: `The endpoint did not acknowledge: ${result.error}.` }),
      };
    } finally {
      http.close();
    }
  });
}

async function rotate(text: string, finishAt: string | undefined, isDual: boolean): Promise<Answer> {
  const at = finishAt === undefined ? null : readTime('--finish-at', finishAt);
  return withWebhook(text, async (context, webhook) => {
    const deps = { ...context, seal: await context.loadSeal() };
    const secret = await rotateSecret(deps, webhook, { finishAt: at, isDual });
    const until = at === null ? `${programName} webhook finish ${encodeId('whk', webhook.id)}` : at.toISOString();
    return {
      document: { ...present(await getStored(context.sql, webhook.id), null), secret },
      text: `  new secret  ${secret}\n\nThe secret is shown this once. The old one signs until: ${until}`,
    };
  });
}

async function finish(text: string): Promise<Answer> {
  return withWebhook(text, async (context, webhook) => {
    const isFinished = await finishRotation(context, webhook);
    const stored = await getStored(context.sql, webhook.id);
    if (!isFinished) throw new CommandError('No new secret is pending.');
    return {
      document: present(stored, null),
      text: 'The new secret alone signs; the old one is gone.',
    };
  });
}

async function getStored(sql: Sql, id: Uuid): Promise<StoredWebhook> {
  const webhook = await findWebhook(sql, id);
  if (!webhook) throw new CommandError('The webhook was deleted meanwhile.');
  return webhook;
}

/**
 * Presents a webhook as the console's API does (contract 19). `heldEvents` null: the events were
 * not counted.
 */
function present(webhook: StoredWebhook, heldEvents: number | null): Record<string, unknown> {
  const { pendingSince, finishAt, isDual } = webhook;
  return {
    id: encodeId('whk', webhook.id),
    endpoint: webhook.endpoint,
    events: webhook.events,
    state: webhook.state,
    consecutive_failures: webhook.failures,
    ...(heldEvents !== null && { held_events: heldEvents }),
    rotation: pendingSince && { created_at: pendingSince, finish_at: finishAt, dual: isDual },
    last_test: webhook.lastTest ?? null,
    created_at: webhook.createdAt,
  };
}

function describe({ id, endpoint, state, failures }: StoredWebhook): string {
  const health = failures === 0 ? '' : `, ${failures} failures in a row`;
  return `${encodeId('whk', id)}  ${printable(endpoint)}  ${state}${health}`;
}
