// The commands that call an operation of the console's API, as one table. The operation's path,
// query and body say what a command takes, its summary is the help, and its answer is what
// `--json` prints. A group loads the routes of its area alone.
import { z } from 'zod';
import { programName } from '../../ground/host/program-name.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { note } from './answer.ts';
import { bodyShape, callOperation, type Operation, type OperationDeps, operationNamed } from './call-operation.ts';
import type { CommandForm, Given } from './command.ts';
import { type CommandContext, withDatabase } from './context.ts';
import { printable } from './render.ts';

interface OperationForm extends Pick<CommandForm, 'form' | 'writes'> {
  readonly operation: string;
  /** In place of the operation's summary. */
  readonly help?: string;
  /** The fields of the body that a caller gives. Absent: all. */
  readonly only?: readonly string[];
  /** Whether it lists what every organisation has. Absent: it acts for the first one. */
  readonly ofAll?: true;
  /** Whether it seals or opens secrets, which needs the master key. */
  readonly seals?: true;
  /** Fields that a caller may leave out, and what they are then. */
  otherwise?(given: Given): Given;
  parts?(context: CommandContext): Promise<Partial<OperationDeps>>;
  readonly columns?: readonly string[];
  /** Sentences below the answer. The type of the answer is that of the operation. */
  also?(answer: object): readonly string[];
  /** Why the command ends with 1 although the operation was called; undefined: it ends with 0. */
  problem?(answer: object): string | undefined;
}

const events = { events: '--event <EVENT>' };
const appColumns = ['id', 'name', 'plan', 'attribution_window_hours', 'suspended_at', 'created_at'];
const ofApp = { columns: appColumns };

/** All lists of operations that the modules export. */
async function area(...modules: readonly Promise<object>[]): Promise<readonly Operation[]> {
  return (await Promise.all(modules)).flatMap((each) => Object.values(each).filter(Array.isArray).flat());
}

/** The areas whose operations the commands call, by the first word of a command. */
const areas: Readonly<Record<string, () => Promise<readonly Operation[]>>> = {
  pause: () => area(import('../../console/operations/system-routes.ts')),
  resume: () => area(import('../../console/operations/system-routes.ts')),
  app: () => area(import('../../console/operations/app-routes.ts'), import('../../console/operations/plan-routes.ts')),
  key: () => area(import('../../console/operations/key-routes.ts')),
  channel: () => area(import('../../console/operations/channel-routes.ts')),
  property: () => area(import('../../console/operations/property-routes.ts')),
  webhook: () => area(import('../../console/operations/webhook-routes.ts')),
  'identify-secret': () => area(import('../../console/operations/identify-routes.ts')),
  explain: () => area(import('../../console/operations/message-routes.ts')),
  token: () => area(import('../../console/operations/token-routes.ts')),
};

const forms: readonly OperationForm[] = [
  {
    form: 'pause',
    operation: 'pause',
    parts: localInstantsOf,
    also: () => [`They go on with: ${programName} resume`],
  },
  { form: 'resume', operation: 'resume', parts: localInstantsOf },
  { form: 'app list', operation: 'listApps', ofAll: true, ...ofApp },
  { form: 'app plan <APP> <PLAN>', operation: 'changePlan', ...ofApp },
  {
    form: 'app window <APP> <HOURS>',
    operation: 'editApp',
    help: 'set for how long after a message a purchase is credited to it; settled purchases do not change',
    only: ['attribution_window_hours'],
    writes: { attribution_window_hours: '<HOURS>' },
    ...ofApp,
  },
  {
    form: 'app events <APP>',
    operation: 'editApp',
    help: 'set what client keys may track; without an option, show it',
    only: ['client_events'],
    columns: ['id', 'name', 'client_events'],
  },
  { form: 'app suspend <APP>', operation: 'suspendApp', ...ofApp },
  { form: 'app resume <APP>', operation: 'resumeApp', ...ofApp },
  { form: 'app delete <APP>', operation: 'deleteApp', writes: { name: '--name <NAME>  its name, typed again' } },
  {
    form: 'key create <APP>',
    operation: 'createKey',
    writes: { scope: '  what it may do', name: '  for people' },
    columns: ['id', 'name', 'scope'],
  },
  {
    form: 'key list <APP>',
    operation: 'listKeys',
    columns: ['id', 'scope', 'name', 'start', 'last4', 'created_at', 'last_used_at', 'expires_at', 'revoked_at'],
  },
  {
    form: 'key rotate <KEY>',
    operation: 'rotateKey',
    writes: { overlap_hours: '--overlap <HOURS>  how long the old one goes on, 0 to 72' },
    columns: ['id', 'name', 'scope'],
    also: ({ replaces }: { replaces: { id: string; expires_at: Date } }) => [
      `${replaces.id} ends at ${replaces.expires_at.toISOString()}.`,
    ],
  },
  { form: 'key revoke <KEY>', operation: 'revokeKey', columns: ['id', 'name', 'scope', 'revoked_at'] },
  {
    form: 'channel list <APP>',
    operation: 'listChannels',
    columns: ['channel', 'current', 'health', 'last_success_at', 'public'],
    also: ({ data }: { data: readonly Credential[] }) => data.flatMap(complainOf),
  },
  {
    form: 'property list <APP>',
    operation: 'listProperties',
    columns: ['key', 'type', 'users_count', 'conflicts_count', 'slot', 'indexed', 'last_seen_at'],
  },
  { form: 'property declare <APP> <KEY> <TYPE>', operation: 'declareProperty' },
  { form: 'property change <APP> <KEY> <TYPE>', operation: 'changeProperty' },
  { form: 'property delete <APP> <KEY>', operation: 'deleteProperty' },
  {
    form: 'webhook create <APP> <URL>',
    operation: 'createWebhook',
    seals: true,
    writes: { endpoint: '<URL>', events: `${events.events}  an event that it is told of; without it all of them` },
  },
  {
    form: 'webhook list <APP>',
    operation: 'listWebhooks',
    columns: ['id', 'state', 'consecutive_failures', 'held_events', 'events', 'endpoint'],
  },
  { form: 'webhook enable <ID>', operation: 'enableWebhook' },
  { form: 'webhook disable <ID>', operation: 'disableWebhook' },
  { form: 'webhook delete <ID>', operation: 'deleteWebhook' },
  { form: 'webhook attempts <ID>', operation: 'listWebhookAttempts' },
  {
    form: 'webhook test <ID>',
    operation: 'testWebhook',
    seals: true,
    problem: ({ error }: { error: string | null }) =>
      error === null ? undefined : `The endpoint did not acknowledge: ${error}.`,
  },
  {
    form: 'webhook replay <ID>',
    operation: 'replayWebhook',
    parts: async () => ({ onReplayed: noteReplayed() }),
    writes: {
      from: '  the beginning; an event at exactly this time is sent',
      to: '  the end; an event at exactly this time is not sent',
      events: `${events.events}  an event to send again; without it all subscribed ones`,
    },
    problem: ({ complete }: { complete: boolean }) =>
      complete ? undefined : 'Something stopped the replay; the same command goes on from there.',
  },
  {
    form: 'webhook rotate <ID>',
    operation: 'rotateWebhookSecret',
    seals: true,
    writes: {
      finish_at: '  finish the rotation at this time, within 30 days',
      dual: '  sign with both secrets until the rotation is finished, the new one first',
    },
    also: ({ id, rotation }: { id: string; rotation: { finish_at: Date | null } | null }) => [
      `The old one signs until: ${rotation?.finish_at?.toISOString() ?? `${programName} webhook finish ${id}`}`,
    ],
  },
  { form: 'webhook finish <ID>', operation: 'finishWebhookRotation' },
  { form: 'identify-secret finish <APP>', operation: 'finishIdentify' },
  {
    form: 'explain <APP>',
    operation: 'explain',
    help: 'say why a person, or a device, got a message or not',
    writes: {
      message_id: '--message <ID>  the message; without it the newest 20 of the last 30 days',
      external_id: '--user <EXTERNAL_ID>  the person',
      device_id: '--device <ID>  the device',
    },
  },
  {
    form: 'token create',
    operation: 'createToken',
    writes: { role: '  what it may do', name: '  for people' },
    otherwise: ({ role }) => ({ name: `Script of ${role}` }),
    columns: ['id', 'name', 'role'],
  },
  {
    form: 'token list',
    operation: 'listTokens',
    columns: ['id', 'role', 'name', 'start', 'last4', 'created_at', 'last_used_at', 'revoked_at', 'is_orphaned'],
  },
  { form: 'token revoke <TOKEN>', operation: 'revokeToken', columns: ['id', 'name', 'role', 'revoked_at'] },
];

/** The first words of these commands. */
export const operationWords = Object.keys(areas);

/** The commands with this first word. */
export async function operationCommands(word: string): Promise<readonly CommandForm[]> {
  const routes = (await areas[word]?.()) ?? [];
  const ofWord = forms.filter(({ form }) => form.split(' ')[0] === word);
  return ofWord.map((form) => commandOf(form, operationNamed(routes, form.operation)));
}

function commandOf(form: OperationForm, operation: Operation): CommandForm {
  const { summary, answers } = operation;
  const schema = answers[200]?.schema;
  const shown = Object.entries(schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodType>) : {});
  const once = shown.filter(([, field]) => /shown this once/i.test(field.description ?? '')).map(([name]) => name);
  return {
    form: form.form,
    help: form.help ?? summary.charAt(0).toLowerCase() + summary.slice(1),
    input: inputOf(form, operation),
    writes: { app: '<APP>  an app, by its id or its name', webhook: '<ID>', q: '--search <TEXT>', ...form.writes },
    run: (_input, given) =>
      withDatabase(loadCommandConfig(), async (context) => {
        const { seals, ofAll, columns } = form;
        const parts = await form.parts?.(context);
        const all = { ...form.otherwise?.(given), ...given };
        const document = await callOperation(context, { operation, given: all, seals, ofAll, parts });
        return { document, columns, once, also: form.also?.(document), problem: form.problem?.(document) };
      }),
  };
}

const limit = z.int().min(1).max(1_000_000).optional().describe('at most so many; without it all of them');

function inputOf({ only, otherwise }: OperationForm, operation: Operation): z.ZodObject {
  const { cursor, limit: _page, ...query } = operation.query.shape;
  const { updated_at: _seen, ...body } = bodyShape(operation);
  const optional = Object.keys(otherwise?.({}) ?? {});
  const fields = Object.entries(body)
    .filter(([name]) => only?.includes(name) ?? true)
    .map(([name, field]) => [name, optional.includes(name) ? field.optional() : field]);
  return z.strictObject({
    ...Object.fromEntries(
      Object.entries(operation.params).map(([name, { description }]) => [name, z.string().describe(description)]),
    ),
    ...query,
    ...(cursor && { limit }),
    ...Object.fromEntries(fields),
  });
}

/** Notes every so many queued events for a person who waits. */
const replayedEvery = 50_000;

function noteReplayed(): (queued: number) => void {
  let noted = 0;
  return (queued) => {
    if (queued - noted < replayedEvery) return;
    noted = queued;
    note(`${queued} events queued so far; the same command goes on from there`);
  };
}

async function localInstantsOf({ sql }: CommandContext): Promise<Partial<OperationDeps>> {
  const [{ loadTimeZones }, { createLocalInstants }] = await Promise.all([
    import('../../ground/database/load-time-zones.ts'),
    import('../../sending/messages/local-time.ts'),
  ]);
  return { localInstants: createLocalInstants((await loadTimeZones(sql)).names) };
}

/** The answer of `listChannels`, as far as its complaints need it. */
interface Credential {
  readonly channel: string;
  readonly current: boolean;
  readonly health: string;
  readonly suspect_since: Date | null;
  readonly last_error: Readonly<Record<string, unknown>> | null;
}

/** Says what is wrong with a credential and what follows from it. */
function complainOf({ channel, current, health, suspect_since: since, last_error: error }: Credential): string[] {
  if (health === 'ok') return [];
  const which = `${current ? '' : 'a former credential of '}${channel}`;
  const reason = error?.['reason'] ?? error?.['code'];
  const why = typeof reason === 'string' ? ` (${printable(reason)})` : '';
  if (health === 'failing') return [`${which} is failing: the push service refuses our credential${why}.`];
  return [
    `${which} is suspect since ${since?.toISOString() ?? 'an unknown time'}: its pushes are refused as if the devices were wrong${why}.`,
    'No device is retired for this reason until a push succeeds or the credential is set again.',
  ];
}
