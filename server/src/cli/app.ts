// `app …`: apps, their plans and their suspension. The keys of a new app are printed once, here.
import type { Command } from 'commander';
import { createApp } from '../apps/create-app.ts';
import { deleteApp } from '../apps/delete-app.ts';
import { changePlan, changeSuspension, editApp } from '../apps/manage-app.ts';
import { warnOfOpenIdentity } from '../apps/open-identity.ts';
import { type App, findApp, findClientEvents, listApps } from '../apps/queries.ts';
import type { Config } from '../config.ts';
import type { Sql } from '../database/db.ts';
import { createTeller } from '../database/teller.ts';
import { encodeId, type Uuid } from '../ground/ids.ts';
import { createLog } from '../ground/log.ts';
import { programName } from '../ground/program-name.ts';
import { notFound } from '../http/api-error.ts';
import { cancelSuspended } from '../messages/cancel-message.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { describePlan } from '../quotas/describe-plan.ts';
import { loadPlans, planNamed } from '../quotas/plan.ts';
import { bringForgottenForward } from '../webhooks/work-queries.ts';
import { type Answer, type AnswerOptions, answer, printable, table, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { withDatabase, withDatabaseOrNew } from './context.ts';
import { getApp } from './find-app.ts';
import { wholeNumber } from './whole-number.ts';

export function addAppCommands(program: Command): void {
  const app = program.command('app').description('apps, their plans and their suspension');
  withJson(app.command('create <NAME>'))
    .description('make an app with one key of each scope')
    .option('--plan <PLAN>', 'its plan; without it DEFAULT_PLAN')
    .action((name: string, options: AnswerOptions & { plan?: string }) =>
      answer(options, () => create(name, options.plan)),
    );
  withJson(app.command('list'))
    .description('list the apps')
    .action((options: AnswerOptions) => answer(options, list));
  withJson(app.command('plan <APP> <PLAN>'))
    .description('change the plan of an app')
    .action((name: string, plan: string, options: AnswerOptions) => answer(options, () => setPlan(name, plan)));
  withJson(app.command('window <APP> <HOURS>'))
    .description(
      'set for how long after a message a purchase is credited to it, 1 to 720 hours; settled purchases do not change',
    )
    .action((name: string, hours: string, options: AnswerOptions) => answer(options, () => setWindow(name, hours)));
  withJson(app.command('events <APP>'))
    .description('set what client keys may track; without an option, show it')
    .option('--new-names <on|off>', 'names of events that the app does not have yet', onOrOff('--new-names'))
    .option('--purchases <on|off>', 'purchases, which reports count', onOrOff('--purchases'))
    .action((name: string, options: EventsOptions) => answer(options, () => setClientEvents(name, options)));
  withJson(app.command('suspend <APP>'))
    .description('refuse every request of an app and stop its sends')
    .action((name: string, options: AnswerOptions) => answer(options, () => suspend(name, true)));
  withJson(app.command('resume <APP>'))
    .description('end the suspension of an app')
    .action((name: string, options: AnswerOptions) => answer(options, () => suspend(name, false)));
  withJson(app.command('delete <APP>'))
    .description('delete an app for ever; its rows are cleared in the background')
    .requiredOption('--name <NAME>', 'its name, typed again')
    .action((app: string, options: AnswerOptions & { name: string }) =>
      answer(options, () => remove(app, options.name)),
    );
}

async function create(name: string, planName: string | undefined): Promise<Answer> {
  const config = loadCommandConfig();
  const plan = checkPlan(config, planName ?? config.defaultPlan);
  return withDatabaseOrNew(config, async (context) => {
    const made = await createApp(context, { name, plan });
    const app = await getAppById(context.sql, made.id);
    const warning = warnOfOpenIdentity(encodeId('app', app.id));
    const paragraphs = [describe(app), describeKeys(made), warning, ...describeLimits(config, app)];
    return {
      document: { ...presentApp(app), server_key: made.serverKey, client_key: made.clientKey },
      text: paragraphs.join('\n\n'),
    };
  });
}

function describeLimits(config: Config, app: App): string[] {
  const limits = describePlan(planNamed(loadPlans(config.plansFile, []), app.plan));
  return limits === null
    ? []
    : [`Its plan is ${limits}; lift it: ${programName} app plan ${encodeId('app', app.id)} unlimited`];
}

/** Describes the keys of a new app for a person. The keys cannot be shown again. */
export function describeKeys({ serverKey, clientKey }: { serverKey: string; clientKey: string }): string {
  return [
    `  server key  ${serverKey}  for your servers: it may do everything`,
    `  client key  ${clientKey}  for apps and web pages`,
    '',
    'The keys are shown this once.',
  ].join('\n');
}

async function list(): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async ({ sql }) => {
    const apps = await listApps(sql);
    const rows = apps.map((app) => [
      encodeId('app', app.id),
      app.name,
      app.plan,
      app.suspendedAt ? `suspended since ${app.suspendedAt.toISOString()}` : 'active',
      app.createdAt.toISOString(),
    ]);
    return {
      document: { apps: apps.map(presentApp) },
      text: apps.length === 0 ? 'There is no app yet.' : table(['ID', 'NAME', 'PLAN', 'STATE', 'CREATED'], rows),
    };
  });
}

async function setPlan(name: string, planName: string): Promise<Answer> {
  const config = loadCommandConfig();
  const plan = checkPlan(config, planName);
  return withDatabase(config, async (context) => {
    const { id } = await getApp(context.sql, name);
    await changePlan(context, id, plan);
    return describeNow(context.sql, id);
  });
}

async function setWindow(name: string, text: string): Promise<Answer> {
  const hours = wholeNumber('HOURS', 1, 720)(text);
  return withDatabase(loadCommandConfig(), async (context) => {
    const { id } = await getApp(context.sql, name);
    await editApp(context, id, { attributionWindowHours: hours });
    return describeNow(context.sql, id);
  });
}

interface EventsOptions extends AnswerOptions {
  readonly newNames?: boolean;
  readonly purchases?: boolean;
}

/**
 * Returns an argument parser for an option. The parser throws a `CommandError` for any text but
 * `on` and `off`.
 */
function onOrOff(option: string): (text: string) => boolean {
  return (text) => {
    if (text === 'on' || text === 'off') return text === 'on';
    throw new CommandError(`${option} is on or off, not '${printable(text)}'`);
  };
}

async function setClientEvents(name: string, { newNames, purchases }: EventsOptions): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async (context) => {
    const { id } = await getApp(context.sql, name);
    await editApp(context, id, { newNames, purchases });
    const app = await getAppById(context.sql, id);
    const now = await findClientEvents(context.sql, id);
    if (!now) throw notFound();
    const say = (isOn: boolean): string => (isOn ? 'on' : 'off');
    return {
      document: { ...presentApp(app), client_events: { new_names: now.newNames, purchases: now.purchases } },
      text: `${printable(app.name)}: client keys track new names ${say(now.newNames)}, purchases ${say(now.purchases)}`,
    };
  });
}

async function remove(text: string, name: string): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async (context) => {
    const app = await getApp(context.sql, text);
    const { devices, users, messages } = await deleteApp(context, app.id, name);
    const teller = createTeller({ sql: context.sql, log: createLog('silent', 'command') });
    await cancelSuspended({ ...context, teller }, app.id);
    await teller.close();
    return {
      document: { id: encodeId('app', app.id), name, deleted: true, devices, users, messages },
      text: `${printable(name)} is deleted: nothing of it answers. The service clears ${devices} devices, ${users} users and ${messages} messages.`,
    };
  });
}

async function suspend(name: string, isSuspended: boolean): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async (context) => {
    const { sql } = context;
    const { id } = await getApp(sql, name);
    await changeSuspension(context, id, isSuspended);
    if (isSuspended) {
      const teller = createTeller({ sql, log: createLog('silent', 'command') });
      await cancelSuspended({ ...context, teller }, id);
      await teller.close();
    } else await bringForgottenForward(sql);
    return describeNow(sql, id);
  });
}

// The plan is checked here, because a service does not start while an app has a plan that the
// service does not know.
function checkPlan(config: Config, name: string): string {
  const plans = loadPlans(config.plansFile, []);
  if (plans.has(name)) return name;
  throw new CommandError(`There is no plan '${printable(name)}'; there are ${[...plans.keys()].join(', ')}`);
}

async function describeNow(sql: Sql, id: Uuid): Promise<Answer> {
  const app = await getAppById(sql, id);
  return { document: presentApp(app), text: describe(app) };
}

async function getAppById(sql: Sql, id: Uuid): Promise<App> {
  const app = await findApp(sql, id);
  if (!app) throw notFound();
  return app;
}

export function presentApp(app: App): Record<string, unknown> {
  return {
    id: encodeId('app', app.id),
    name: app.name,
    plan: app.plan,
    attribution_window_hours: app.attributionWindowHours,
    suspended_at: app.suspendedAt,
    created_at: app.createdAt,
  };
}

export function describe(app: App): string {
  const state = app.suspendedAt ? `, suspended since ${app.suspendedAt.toISOString()}` : '';
  return `${printable(app.name)}  ${encodeId('app', app.id)}  plan ${app.plan}, window ${app.attributionWindowHours} h${state}`;
}
