// `channel …`: the provider credentials of an app. A private key goes in and never comes out again.
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { z } from 'zod';
import { saveCredential } from '../apps/credentials.ts';
import { type CredentialRecord, listCredentials } from '../apps/queries.ts';
import { generateVapidKeys, parseVapidKeys, type VapidKeys } from '../channels/webpush/vapid.ts';
import { loadConfig } from '../config.ts';
import { defaultVapidSubject } from '../first-start.ts';
import { type Answer, type AnswerOptions, answer, printable, table, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './context.ts';
import { getApp } from './find-app.ts';

interface SetOptions extends AnswerOptions {
  readonly subject?: string;
  readonly vapidFile?: string;
}

export function addChannelCommands(program: Command): void {
  const channel = program.command('channel').description('provider credentials of an app');
  withJson(channel.command('set <APP> <CHANNEL>'))
    .description('set the credentials of a channel: webpush')
    .option('--subject <SUBJECT>', 'whom push services may write to: mailto:ADDRESS or https://…')
    .option('--vapid-file <FILE>', 'VAPID keys as JSON, {"publicKey", "privateKey"}; without it new ones are made')
    .action((app: string, name: string, options: SetOptions) => answer(options, () => set(app, name, options)));
  withJson(channel.command('list <APP>'))
    .description('list the channels of an app and how they do')
    .action((app: string, options: AnswerOptions) => answer(options, () => list(app)));
  withJson(channel.command('test <APP> <CHANNEL>'))
    .description('send one push by the normal path')
    .requiredOption('--device <ID>', 'the device to ring')
    .action((app: string, name: string, options: AnswerOptions & { device: string }) =>
      answer(options, async () => {
        const channel = checkChannel(name);
        // All of the service stands behind it: loaded for this command alone.
        const { testChannel } = await import('./test-channel.ts');
        return testChannel(app, channel, options.device);
      }),
    );
}

// The channels that this version can send by.
const settableChannels = ['webpush'] as const;
type SettableChannel = (typeof settableChannels)[number];

function checkChannel(name: string): SettableChannel {
  const channel = settableChannels.find((each) => each === name);
  if (channel) return channel;
  throw new CommandError(`There is no channel '${printable(name)}'; there is ${settableChannels.join(', ')}`);
}

async function set(appName: string, channelName: string, { subject, vapidFile }: SetOptions): Promise<Answer> {
  const channel = checkChannel(channelName);
  const given = vapidFile === undefined ? undefined : readVapidFile(vapidFile);
  return withDatabase(loadConfig(), async (context) => {
    const app = await getApp(context.sql, appName);
    const former = (await listCredentials(context.sql, app.id)).find((each) => isCurrent(each, channel));
    const keys = checkKeys({
      ...(given?.keys ?? generateVapidKeys()),
      subject: subject ?? given?.subject ?? subjectOf(former) ?? defaultVapidSubject,
    });
    const seal = await context.loadSeal();
    const { publicKey, privateKey } = keys;
    await saveCredential(
      { ...context, seal },
      { appId: app.id, channel, public: { publicKey, subject: keys.subject }, secret: privateKey },
    );
    const saved = (await listCredentials(context.sql, app.id)).find((each) => isCurrent(each, channel));
    if (!saved) throw new CommandError('Another command has just replaced these credentials');
    const lines = [`Web push of ${printable(app.name)} is set.`, '', `  public key  ${publicKey}`];
    lines.push(`  subject     ${keys.subject}`);
    if (former && former.public['publicKey'] !== publicKey) {
      lines.push('', 'Browsers that subscribed with the former keys go on with those; new ones subscribe with these.');
    }
    return { document: presentCredential(saved), text: lines.join('\n') };
  });
}

async function list(appName: string): Promise<Answer> {
  return withDatabase(loadConfig(), async ({ sql }) => {
    const app = await getApp(sql, appName);
    const credentials = await listCredentials(sql, app.id);
    const current = credentials.filter((each) => each.replacedAt === null);
    const rows = current.map((each) => [
      each.channel,
      each.state,
      String(credentials.filter((other) => other.channel === each.channel && other.replacedAt !== null).length),
      each.lastSuccessAt?.toISOString() ?? 'never',
      String(each.public['publicKey'] ?? ''),
    ]);
    const headings = ['CHANNEL', 'STATE', 'FORMER', 'LAST SUCCESS', 'PUBLIC KEY'];
    return {
      document: { channels: credentials.map(presentCredential) },
      text: current.length === 0 ? 'No channel is set.' : table(headings, rows),
    };
  });
}

const vapidFileSchema = z.object({ publicKey: z.string(), privateKey: z.string(), subject: z.string().optional() });

// The form that `web-push generate-vapid-keys --json` prints, with an optional subject beside it.
function readVapidFile(file: string): { keys: VapidKeys; subject: string | undefined } {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`--vapid-file ${file} ${code ? `cannot be read: ${code}` : 'is not JSON'}`);
  }
  const parsed = vapidFileSchema.safeParse(value);
  if (!parsed.success) throw new CommandError(`--vapid-file ${file} must hold {"publicKey": "…", "privateKey": "…"}`);
  const { publicKey, privateKey, subject } = parsed.data;
  return { keys: { publicKey, privateKey }, subject };
}

// What the channel itself would refuse is refused here, before it is stored.
function checkKeys(keys: VapidKeys & { subject: string }): VapidKeys & { subject: string } {
  const parsed = parseVapidKeys({ ...keys, id: keys.publicKey });
  if ('credential' in parsed) return { ...keys, publicKey: parsed.credential.publicKey };
  const [issue] = parsed.issues;
  throw new CommandError(`${issue?.path.join('.')}: ${issue?.message}`);
}

function isCurrent(credential: CredentialRecord, channel: string): boolean {
  return credential.channel === channel && credential.replacedAt === null;
}

function subjectOf(credential: CredentialRecord | undefined): string | undefined {
  const subject = credential?.public['subject'];
  return typeof subject === 'string' ? subject : undefined;
}

function presentCredential(credential: CredentialRecord): Record<string, unknown> {
  return {
    channel: credential.channel,
    credential_id: credential.id,
    current: credential.replacedAt === null,
    public_key: credential.public['publicKey'] ?? null,
    subject: credential.public['subject'] ?? null,
    state: credential.state,
    suspect_since: credential.suspectSince,
    last_success_at: credential.lastSuccessAt,
    last_error: credential.lastError,
    last_error_at: credential.lastErrorAt,
    created_at: credential.createdAt,
    replaced_at: credential.replacedAt,
  };
}
