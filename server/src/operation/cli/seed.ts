// `seed`: fills an app with believable people and devices, for trying and measuring. With a sandbox
// the devices are that sandbox's browsers and phones. Without a sandbox their tokens are valid in
// form and belong to nobody.
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { presentListed } from '../../console/operations/app-routes.ts';
import { programName, startCommand } from '../../ground/host/program-name.ts';
import { encodeId } from '../../ground/values/ids.ts';
import { type DeviceToken, parseToken } from '../../people/devices/token.ts';
import type { ChannelId } from '../../sending/channels/channel.ts';
import type { EndpointRules } from '../../sending/channels/webpush/endpoint.ts';
import { createApp, type NewApp } from '../../teams/apps/create-app.ts';
import { listCredentials } from '../../teams/apps/credential-queries.ts';
import { type App, findApp } from '../../teams/apps/queries.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import type { SeededDevice } from '../seed/population.ts';
import { type AppOnDevices, connectToSandbox, type SandboxDevices } from '../seed/sandbox-devices.ts';
import { seedDevices } from '../seed/seed-devices.ts';
import { appOnDevices, setSeedChannels } from '../seed/set-channels.ts';
import { makeToken } from '../seed/tokens.ts';
import { type Answer, CommandError, note } from './answer.ts';
import { describe, describeKeys } from './app.ts';
import { command, wholeBetween } from './command.ts';
import { type CommandContext, withDatabaseOrNew } from './context.ts';
import { endpointRulesOf } from './endpoint-rules.ts';
import { getApp } from './find-app.ts';
import { printable } from './render.ts';

const devicesMax = 100_000_000;
const noteEvery = 25_000;

const input = z.strictObject({
  app: z.string().optional(),
  devices: wholeBetween(1, devicesMax),
  seed: z.string().default('carillon'),
  sandbox: z.string().optional(),
});
type Given = z.output<typeof input>;

export const commands = [
  command({
    form: 'seed [APP]',
    help: 'add believable users, devices and events; without APP in a new app on the plan unlimited',
    input,
    writes: {
      devices: '--devices <N>  how many devices',
      seed: '--seed <S>  the same seed makes the same people',
      sandbox: '--sandbox <URL>  the inbox address of a sandbox, whose browsers and phones the devices are',
    },
    run: seed,
  }),
];

async function seed({ app: appName, ...options }: Given): Promise<Answer> {
  const config = loadCommandConfig();
  const sandbox = options.sandbox === undefined ? undefined : await connectToSandbox(options.sandbox);
  return withDatabaseOrNew(config, async (context) => {
    const { sql } = context;
    const made = appName === undefined ? await makeApp(context, options.seed, sandbox) : undefined;
    const app = made?.app ?? (await getApp(sql, appName ?? ''));
    const credentials = await listCredentials(sql, app.id);
    const onDevices = sandbox && appOnDevices(credentials);
    const credentialIdOf = (channel: ChannelId) =>
      credentials.find((each) => each.channel === channel && each.replacedAt === null)?.id ?? null;
    // The sandbox's browsers are judged by the rules of the service that will be started for the
    // sandbox.
    const rules = endpointRulesOf(config, sandbox?.environment);
    const startedAt = performance.now();
    const seeded = await seedDevices(context, {
      appId: app.id,
      seed: options.seed,
      devices: options.devices,
      credentialIds: { web: credentialIdOf('webpush'), ios: credentialIdOf('apns'), android: credentialIdOf('fcm') },
      tokensOf:
        sandbox && onDevices
          ? (devices) => takeTokens(sandbox, devices, onDevices, options.seed, rules)
          : async (devices) => devices.map(makeToken),
      onProgress: progressTo(options.devices),
    });
    const seconds = (performance.now() - startedAt) / 1000;
    if (sandbox) warnOfEnvironment(config, sandbox);
    return present(app, made?.keys, options, { ...seeded, seconds });
  });
}

async function makeApp(
  context: CommandContext,
  seedName: string,
  sandbox: SandboxDevices | undefined,
): Promise<{ app: App; keys: NewApp }> {
  const { sql } = context;
  const keys = await createApp(context, { name: `Seed ${seedName}`, plan: 'unlimited' });
  await setSeedChannels({ ...context, seal: await context.loadSeal() }, keys.id, sandbox);
  // The id is printed before the work begins, so that the app can be found where the work fails.
  note(`Made the app ${encodeId('app', keys.id)}`);
  const app = await findApp(sql, keys.id);
  if (!app) throw new Error('an app that was just made is gone');
  return { app, keys };
}

/**
 * Takes tokens from a sandbox and judges them as a registration would, so that no token is stored
 * that the service would refuse. Throws a `CommandError` for such a token.
 */
async function takeTokens(
  sandbox: SandboxDevices,
  devices: readonly SeededDevice[],
  app: AppOnDevices,
  seedName: string,
  rules: EndpointRules,
): Promise<DeviceToken[]> {
  const texts = await sandbox.tokensOf(devices, app, seedName);
  return devices.map(({ platform }, i) => {
    const parsed = parseToken(platform, texts[i], rules);
    if ('token' in parsed) return parsed.token;
    throw new CommandError(`A seeded token would be refused: ${parsed.issues[0]?.message}`);
  });
}

function warnOfEnvironment(config: Config, { environment }: SandboxDevices): void {
  const host = environment['PUSH_HOSTS'] ?? '';
  if (config.pushHosts.includes(host) || config.pushHosts.includes('*')) return;
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  note(
    `Pushes reach the sandbox where Carillon was started by '${programName} sandbox -- ${startCommand}', or with ${variables.join(' ')}`,
  );
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
  options: Omit<Given, 'app'>,
  seeded: { devices: number; users: number; events: number; known: number; seconds: number },
): Answer {
  const count = (value: number): string => value.toLocaleString('en-US');
  const known = seeded.known === 0 ? '' : ` ${count(seeded.known)} were there before.`;
  const lines = [
    describe(app),
    '',
    `Added ${count(seeded.devices)} devices, ${count(seeded.users)} users and ${count(seeded.events)} events in ` +
      `${seeded.seconds.toFixed(1)} s (seed '${printable(options.seed)}').${known}`,
  ];
  if (keys) lines.push('', describeKeys(keys));
  return {
    document: {
      app: presentListed(app),
      ...(keys && { server_key: keys.serverKey, client_key: keys.clientKey }),
      seed: options.seed,
      devices: seeded.devices,
      users: seeded.users,
      events: seeded.events,
      known_devices: seeded.known,
      seconds: Number(seeded.seconds.toFixed(3)),
    },
    text: lines.join('\n'),
  };
}
