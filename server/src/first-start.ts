// What a start prints: where things are and, with an empty database of its own, the first app and its keys, once. The banner
// is for a person and goes to standard output; it is not a log line, and no key in it stands anywhere else but in
// DATA_DIR/first-run.txt (0600).
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createApp, type NewApp } from './apps/create-app.ts';
import { saveCredential } from './apps/credentials.ts';
import { createKey } from './apps/manage-keys.ts';
import { listApps, listCredentials } from './apps/queries.ts';
import { generateVapidKeys } from './channels/webpush/vapid.ts';
import type { Config } from './config.ts';
import { type Clock, createClock } from './platform/clock.ts';
import type { Sql } from './platform/db.ts';
import type { EmbeddedDatabase } from './platform/embedded-postgres.ts';
import type { Uuid } from './platform/ids.ts';
import { describePause, type Pause } from './platform/restore-guard.ts';
import type { Seal } from './platform/seal.ts';

/** Push services ask for somebody to write to. An operator's own address is set with `carillon channel set`. */
export const defaultVapidSubject = 'mailto:push@carillon.example';

export const demoAppName = 'Demo';
const createdBy = 'first start';

export interface FirstStartDeps {
  readonly sql: Sql;
  readonly seal: Seal;
  readonly config: Config;
  readonly embedded: EmbeddedDatabase | undefined;
  /** The pause that the service starts in. */
  readonly paused: Pause | null;
}

/** What a start says, given the address it listens on; null where it runs no API. */
export interface StartNotice {
  text(address: string | null): string;
  document(address: string | null): object;
}

/** Makes the first app where there is none, and returns what to print once the service answers. */
export async function firstStart(deps: FirstStartDeps): Promise<StartNotice> {
  const { config, embedded, paused } = deps;
  const keys = embedded && (await makeDemoApp(deps));
  const baseOf = (address: string | null): string => config.publicUrl ?? address ?? '';
  const data = embedded ? embedded.clusterDir : 'the database of DATABASE_URL';
  return {
    text: (address) =>
      [
        ...describeStart(config, address, baseOf(address), data),
        ...describeWaiting(paused),
        ...describeKeys(keys, baseOf(address)),
        '',
        '',
      ].join('\n'),
    document: (address) => ({
      address,
      console: address === null ? null : `${baseOf(address)}/`,
      data,
      data_dir: embedded ? config.dataDir : null,
      default_plan: config.defaultPlan,
      paused_at: paused?.at ?? null,
      pause_reason: paused?.reason ?? null,
      first_app: keys
        ? {
            name: demoAppName,
            server_key: keys.serverKey,
            client_key: keys.clientKey,
            demo: `${baseOf(address)}/demo#${keys.clientKey}`,
          }
        : null,
    }),
  };
}

function describeStart(config: Config, address: string | null, base: string, data: string): string[] {
  return [
    '',
    address === null ? '  Carillon works' : `  Carillon is up at ${address}`,
    '',
    ...(address === null ? [] : [`  Console     ${base}/`]),
    `  Data        ${data}`,
    ...(config.databaseUrl === null ? [`  Keys, files ${config.dataDir}`] : []),
    `  Plan        a new app is on '${config.defaultPlan}'; lift it with: npx carillon app plan APP unlimited`,
    ...(config.publicUrl === null
      ? ['  PUBLIC_URL  is not set: pushes carry the real url, and clicks on Apple endpoints are not counted']
      : []),
  ];
}

function describeWaiting(paused: Pause | null): string[] {
  if (!paused) return [];
  return [
    '',
    '  *** PAUSED ***  nothing is sent until somebody says: npx carillon resume',
    `  ${describePause(paused)}`,
  ];
}

function describeKeys(keys: DemoKeys | undefined, base: string): string[] {
  if (!keys) return [];
  return [
    '',
    `  This is the first start. The app '${demoAppName}' was made, with these keys, shown now and kept in`,
    `  ${keys.file}:`,
    '',
    `  Server key  ${keys.serverKey}`,
    `  Client key  ${keys.clientKey}`,
    '',
    '  Ring your own browser: open this link, allow notifications, and follow the page.',
    `  Demo        ${base}/demo#${keys.clientKey}`,
    '',
    ...secrecy.map((line) => `  ${line}`),
  ];
}

/** Who else may have read the keys, and what to do then. Stands wherever the keys stand. */
const secrecy = [
  'The server key is a secret: it may do everything in this app. Everybody who reads this text has it, and the log of a',
  'container keeps this text. Where others can read that log, replace the key and then delete the file:',
  `  npx carillon key list ${demoAppName}              names the keys, key_…`,
  '  npx carillon key rotate KEY --overlap 0    prints a new key and ends the old one now',
] as const;

interface DemoKeys {
  readonly serverKey: string;
  readonly clientKey: string;
  readonly file: string;
}

/**
 * Makes the app Demo in a database without apps. The VAPID key is made last and says that all is done: a start that died before
 * then is finished by the next one, with keys of its own, since those of the first may have been seen by nobody.
 */
async function makeDemoApp({ sql, seal, config }: FirstStartDeps): Promise<DemoKeys | undefined> {
  const clock = await createClock(sql);
  const [first, ...others] = await listApps(sql);
  const isUnfinished =
    first?.name === demoAppName && others.length === 0 && (await listCredentials(sql, first.id)).length === 0;
  if (first && !isUnfinished) return undefined;

  const app = first ? await makeKeys(sql, clock, first.id) : await createApp({ sql, clock }, demoApp(config));
  const file = join(config.dataDir, 'first-run.txt');
  const base = config.publicUrl ?? `http://${config.host}:${config.port}`;
  const text = `Carillon, app '${demoAppName}'\n\nserver key  ${app.serverKey}\nclient key  ${app.clientKey}\ndemo        ${base}/demo#${app.clientKey}\n\n${secrecy.join('\n')}\n`;
  await writeFile(file, text, { mode: 0o600 });

  const vapid = generateVapidKeys();
  await saveCredential(
    { sql, clock, seal },
    {
      appId: app.id,
      channel: 'webpush',
      public: { publicKey: vapid.publicKey, subject: defaultVapidSubject },
      secret: vapid.privateKey,
    },
  );
  return { serverKey: app.serverKey, clientKey: app.clientKey, file };
}

function demoApp(config: Config): { name: string; plan: string; createdBy: string } {
  return { name: demoAppName, plan: config.defaultPlan, createdBy };
}

async function makeKeys(sql: Sql, clock: Clock, appId: Uuid): Promise<NewApp> {
  const server = await createKey({ sql, clock }, { appId, scope: 'server', name: 'Server key', createdBy });
  const client = await createKey({ sql, clock }, { appId, scope: 'client', name: 'Client key', createdBy });
  return { id: appId, serverKey: server.text, clientKey: client.text };
}
