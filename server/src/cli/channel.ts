// `channel …`: the provider credentials of an app. A private key is stored and never shown again.
import type { Command } from 'commander';
import { type CredentialRecord, listCredentials } from '../apps/credential-queries.ts';
import { saveCredential } from '../apps/credentials.ts';
import { type ChannelId, channelIds } from '../channels/channel.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type Answer, type AnswerOptions, answer, printable, table, withJson } from './answer.ts';
import { type CredentialOptions, describeCredential, readCredential } from './channel-credential.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './context.ts';
import { getApp } from './find-app.ts';

type SetOptions = AnswerOptions & CredentialOptions;

export function addChannelCommands(program: Command): void {
  const channel = program.command('channel').description('provider credentials of an app');
  withJson(channel.command('set <APP> <CHANNEL>'))
    .description('set the credentials of a channel: webpush, apns or fcm')
    .option('--subject <SUBJECT>', 'webpush: the contact for push services, mailto:ADDRESS or https://…')
    .option('--vapid-file <FILE>', 'webpush: VAPID keys, {"publicKey", "privateKey"}; without it new ones are made')
    .option('--key-file <FILE>', 'apns: the token signing key, a .p8 file')
    .option('--key-id <ID>', 'apns: its key id')
    .option('--team-id <ID>', 'apns: your team id')
    .option('--bundle-id <ID>', "apns: the app's bundle id")
    .option('--environment <ENVIRONMENT>', 'apns: production or sandbox, tried first where a device says neither')
    .option('--service-account <FILE>', "fcm: the service account's private key, a JSON file")
    .action((app: string, name: string, options: SetOptions) => answer(options, () => set(app, name, options)));
  withJson(channel.command('list <APP>'))
    .description('list the channels of an app and their health')
    .action((app: string, options: AnswerOptions) => answer(options, () => list(app)));
  withJson(channel.command('test <APP> <CHANNEL>'))
    .description('send one push by the normal path')
    .requiredOption('--device <ID>', 'the device to ring')
    .action((app: string, name: string, options: AnswerOptions & { device: string }) =>
      answer(options, async () => {
        const channel = checkChannel(name);
        // Imported for this command only, because it loads the whole service.
        const { testChannel } = await import('./test-channel.ts');
        return testChannel(app, channel, options.device);
      }),
    );
}

function checkChannel(name: string): ChannelId {
  const channel = channelIds.find((each) => each === name);
  if (channel) return channel;
  throw new CommandError(`There is no channel '${printable(name)}'; there is ${channelIds.join(', ')}`);
}

async function set(appName: string, channelName: string, options: SetOptions): Promise<Answer> {
  const channel = checkChannel(channelName);
  const config = loadCommandConfig();
  const given = readCredential(channel, options, config.fcmTokenUrl);
  return withDatabase(config, async (context) => {
    const app = await getApp(context.sql, appName);
    const former = (await listCredentials(context.sql, app.id)).find((each) => isCurrent(each, channel));
    const { secret, ...credential } = given(former?.public);
    const seal = await context.loadSeal();
    await saveCredential({ ...context, seal }, { appId: app.id, channel, public: credential.public, secret });
    const saved = (await listCredentials(context.sql, app.id)).find((each) => isCurrent(each, channel));
    if (!saved) throw new CommandError('Another command has just replaced these credentials');
    const facts = describeCredential(channel, credential.public);
    const width = Math.max(...facts.map(([name]) => name.length));
    const lines = facts.map(([name, value]) => `  ${name.replaceAll('_', ' ').padEnd(width)}  ${printable(value)}`);
    const text = [`${channelNames[channel]} of ${printable(app.name)} is set.`, '', ...lines];
    if (channel === 'webpush' && former && former.public['publicKey'] !== credential.public['publicKey']) {
      text.push('', 'Browsers that subscribed with the former keys go on with those; new ones subscribe with these.');
    }
    return { document: presentCredential(saved), text: text.join('\n') };
  });
}

const channelNames = { webpush: 'Web push', apns: 'Apple push', fcm: 'Android push' } as const;

async function list(appName: string): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async ({ sql }) => {
    const app = await getApp(sql, appName);
    const credentials = await listCredentials(sql, app.id);
    const current = credentials.filter((each) => each.replacedAt === null);
    const rows = current.map((each) => [
      each.channel,
      each.state,
      String(credentials.filter((other) => other.channel === each.channel && other.replacedAt !== null).length),
      each.lastSuccessAt?.toISOString() ?? 'never',
      factsOf(each)
        .map(([, value]) => value)
        .join(' '),
    ]);
    const headings = ['CHANNEL', 'STATE', 'FORMER', 'LAST SUCCESS', 'CREDENTIAL'];
    const text = [current.length === 0 ? 'No channel is set.' : table(headings, rows)];
    // Former credentials are included, because browsers keep the keys with which they subscribed.
    const complaints = credentials.flatMap(complainOf);
    if (complaints.length > 0) text.push('', ...complaints);
    return { document: { channels: credentials.map(presentCredential) }, text: text.join('\n') };
  });
}

/**
 * Tells a person what is wrong with a credential and its effect. Returns no line for a healthy
 * credential.
 */
function complainOf({ channel, state, suspectSince, lastError, replacedAt }: CredentialRecord): string[] {
  if (state === 'ok') return [];
  const which = `${replacedAt === null ? '' : 'a former credential of '}${channel}`;
  const reason = lastError?.['reason'] ?? lastError?.['code'];
  const why = typeof reason === 'string' ? ` (${printable(reason)})` : '';
  if (state === 'failing') return [`${which} is failing: the push service refuses our credential${why}.`];
  return [
    `${which} is suspect since ${suspectSince?.toISOString() ?? 'an unknown time'}: its pushes are refused as if the devices were wrong${why}.`,
    '  No device is retired for this reason until a push succeeds or the credential is set again.',
  ];
}

function isCurrent(credential: CredentialRecord, channel: string): boolean {
  return credential.channel === channel && credential.replacedAt === null;
}

function factsOf({ channel, public: known }: CredentialRecord): readonly (readonly [string, string])[] {
  const id = channelIds.find((each) => each === channel);
  return id ? describeCredential(id, known) : [];
}

function presentCredential(credential: CredentialRecord): Record<string, unknown> {
  return {
    channel: credential.channel,
    credential_id: credential.id,
    current: credential.replacedAt === null,
    ...Object.fromEntries(factsOf(credential)),
    state: credential.state,
    suspect_since: credential.suspectSince,
    last_success_at: credential.lastSuccessAt,
    last_error: credential.lastError,
    last_error_at: credential.lastErrorAt,
    created_at: credential.createdAt,
    replaced_at: credential.replacedAt,
  };
}
