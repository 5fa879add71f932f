// `seed`: fills an app with believable people and devices, for trying and measuring. With a sandbox its browsers are real to
// that sandbox; without one their subscriptions are valid in form and belong to nobody.
import type { Command } from 'commander';
import { createApp, type NewApp } from '../apps/create-app.ts';
import { saveCredential } from '../apps/credentials.ts';
import { type App, findApp, findCurrentCredentialId, listCredentials } from '../apps/queries.ts';
import { generateVapidKeys } from '../channels/webpush/vapid.ts';
import { type Config, loadConfig } from '../config.ts';
import { defaultVapidSubject } from '../first-start.ts';
import { encodeId, type Uuid } from '../platform/ids.ts';
import { type Answer, type AnswerOptions, answer, note, printable, withJson } from './answer.ts';
import { describe, describeKeys, presentApp } from './app.ts';
import { CommandError } from './command-error.ts';
import { type CommandContext, madeBy, withDatabase } from './context.ts';
import { endpointRulesOf } from './endpoint-rules.ts';
import { getApp } from './find-app.ts';
import { connectToSandbox, type SandboxBrowsers } from './sandbox-browsers.ts';
import { seedDevices } from './seed-devices.ts';
import { makeToken } from './seed-population.ts';
import { wholeNumber } from './whole-number.ts';

const devicesMax = 100_000_000;
const defaultSeed = 'carillon';
const noteEvery = 25_000;

interface SeedOptions extends AnswerOptions {
  readonly devices: number;
  readonly seed: string;
  readonly sandbox?: string;
}

export function addSeedCommand(program: Command): void {
  withJson(program.command('seed [APP]'))
    .description('add believable users and devices; without APP in a new app on the plan unlimited')
    .requiredOption('--devices <N>', 'how many devices', wholeNumber('--devices', 1, devicesMax))
    .option('--seed <S>', 'the same seed makes the same people', defaultSeed)
    .option('--sandbox <URL>', 'the inbox address of a sandbox, whose browsers the web devices are')
    .action((app: string | undefined, options: SeedOptions) => answer(options, () => seed(app, options)));
}

async function seed(appName: string | undefined, options: SeedOptions): Promise<Answer> {
  const config = loadConfig();
  const sandbox = options.sandbox === undefined ? undefined : await connectToSandbox(options.sandbox);
  return withDatabase(config, async (context) => {
    const { sql } = context;
    const made = appName === undefined ? await makeApp(context, options.seed) : undefined;
    const app = made?.app ?? (await getApp(sql, appName ?? ''));
    const webpush = (await listCredentials(sql, app.id)).find((each) => each.channel === 'webpush' && !each.replacedAt);
    if (sandbox && !webpush) {
      throw new CommandError('Browsers subscribe with web push keys: carillon channel set APP webpush');
    }
    const vapidKey = String(webpush?.public['publicKey'] ?? '');
    const startedAt = performance.now();
    const seeded = await seedDevices(context, {
      appId: app.id,
      seed: options.seed,
      devices: options.devices,
      credentialIds: {
        web: webpush?.id ?? null,
        ios: await findCurrentCredentialId(sql, app.id, 'apns'),
        android: await findCurrentCredentialId(sql, app.id, 'fcm'),
      },
      // A sandbox's browsers are judged as the service will that is started for it.
      rules: endpointRulesOf(config, sandbox?.environment),
      tokensOf: sandbox
        ? (devices) => sandbox.subscribe(devices, vapidKey, options.seed)
        : async (devices) => devices.map(makeToken),
      onProgress: progressTo(options.devices),
    });
    const seconds = (performance.now() - startedAt) / 1000;
    if (sandbox) warnOfEnvironment(config, sandbox);
    return present(app, made?.keys, options, { ...seeded, seconds });
  });
}

async function makeApp(context: CommandContext, seedName: string): Promise<{ app: App; keys: NewApp }> {
  const { sql, clock } = context;
  const keys = await createApp({ sql, clock }, { name: `Seed ${seedName}`, plan: 'unlimited', createdBy: madeBy });
  await setWebPush(context, keys.id);
  // Said before the work begins: should it fail, the app is there and has a name.
  note(`Made the app ${encodeId('app', keys.id)}`);
  const app = await findApp(sql, keys.id);
  if (!app) throw new Error('an app that was just made is gone');
  return { app, keys };
}

async function setWebPush({ sql, clock, loadSeal }: CommandContext, appId: Uuid): Promise<void> {
  const { publicKey, privateKey } = generateVapidKeys();
  const seal = await loadSeal();
  const shown = { publicKey, subject: defaultVapidSubject };
  await saveCredential({ sql, clock, seal }, { appId, channel: 'webpush', public: shown, secret: privateKey });
}

function warnOfEnvironment(config: Config, { environment }: SandboxBrowsers): void {
  const host = environment['PUSH_HOSTS'] ?? '';
  if (config.pushHosts.includes(host) || config.pushHosts.includes('*')) return;
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  note(`Pushes reach the sandbox when Carillon runs with: ${variables.join(' ')}`);
}

function progressTo(total: number): (done: number) => void {
  let noted = 0;
  return (done) => {
    if (done - noted < noteEvery || done >= total) return;
    noted = done;
    note(`${done.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} devices`);
  };
}

function present(
  app: App,
  keys: NewApp | undefined,
  options: SeedOptions,
  seeded: { devices: number; users: number; known: number; seconds: number },
): Answer {
  const count = (value: number): string => value.toLocaleString('en-US');
  const known = seeded.known === 0 ? '' : ` ${count(seeded.known)} were there before.`;
  const lines = [
    describe(app),
    '',
    `Added ${count(seeded.devices)} devices and ${count(seeded.users)} users in ${seeded.seconds.toFixed(1)} s ` +
      `(seed '${printable(options.seed)}').${known}`,
  ];
  if (keys) lines.push('', describeKeys(keys));
  return {
    document: {
      app: presentApp(app),
      ...(keys && { server_key: keys.serverKey, client_key: keys.clientKey }),
      seed: options.seed,
      devices: seeded.devices,
      users: seeded.users,
      known_devices: seeded.known,
      seconds: Number(seeded.seconds.toFixed(3)),
    },
    text: lines.join('\n'),
  };
}
