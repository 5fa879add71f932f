// Prints where things are and, with an empty database of its own, the first app and its keys, once.
// The banner is for a person and goes to standard output; it is no log line. Its keys are stored in
// DATA_DIR/first-run.txt (0600) only. A start that ends before it listens has shown nothing, so the
// next start shows the keys.
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EmbeddedDatabase, Sql } from '@carillon/postgres';
import type { Config } from '../../config.ts';
import { demoAppName } from '../../console/pages/demo-app.ts';
import { type Clock, createClock } from '../../ground/database/clock.ts';
import { describePause, type Pause } from '../../ground/database/restore-guard.ts';
import { ifThere } from '../../ground/host/if-there.ts';
import { programName } from '../../ground/host/program-name.ts';
import type { Seal } from '../../ground/secrets/seal.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { generateVapidKeys } from '../../sending/channels/webpush/vapid.ts';
import { hasOwner } from '../../teams/accounts/link-queries.ts';
import { createSetupLink, linkPath } from '../../teams/accounts/links.ts';
import { createApp, type NewApp } from '../../teams/apps/create-app.ts';
import { listCredentials } from '../../teams/apps/credential-queries.ts';
import { saveCredential } from '../../teams/apps/credentials.ts';
import { createKey } from '../../teams/apps/manage-keys.ts';
import { warnOfOpenIdentity } from '../../teams/apps/open-identity.ts';
import { firstOrganisationId, listApps } from '../../teams/apps/queries.ts';
import { serviceActor } from '../../teams/audit/actor.ts';
import { describePlan } from '../../teams/quotas/describe-plan.ts';
import { type Plans, planNamed } from '../../teams/quotas/plan.ts';

/**
 * Push services ask for an address to write to. An operator sets another one with `carillon channel
 * set`.
 */
export const defaultVapidSubject = 'mailto:push@carillon.example';

const by = serviceActor('first start');

export interface FirstStartDeps {
  readonly sql: Sql;
  readonly seal: Seal;
  readonly config: Config;
  readonly plans: Plans;
  readonly embedded: EmbeddedDatabase | undefined;
  /** The pause in which the service starts; null: there is none. */
  readonly paused: Pause | null;
}

/**
 * The text of a start, given the address on which it listens. A null address means that the start
 * runs no API.
 */
export interface StartNotice {
  text(address: string | null): string;
  document(address: string | null): object;
  /** Writes the keys to first-run.txt, which the text names. */
  keep(address: string | null): Promise<void>;
  /** Called after the notice was printed. No later start prints the keys. */
  wasShown(address: string | null): Promise<void>;
}

/**
 * Makes the first app in an embedded database without apps. Returns what to print once the service
 * answers.
 */
export async function firstStart(deps: FirstStartDeps): Promise<StartNotice> {
  const { config, embedded, paused } = deps;
  const untold = embedded && (await makeDemoApp(deps));
  const baseOf = (address: string | null): string => config.publicUrl ?? address ?? '';
  const data = embedded ? embedded.clusterDir : 'the database of DATABASE_URL';
  return {
    text: (address) =>
      [
        ...describeStart(deps, address, baseOf(address), data),
        ...describeWaiting(paused),
        ...(untold && address !== null ? describeKeys(untold, config, baseOf(address)) : []),
        ...(untold && address !== null ? describeSetup(untold, config) : []),
        '',
        '',
      ].join('\n'),
    document: (address) => ({
      address,
      console: address === null ? null : consoleAddress(baseOf(address)),
      data,
      data_dir: embedded ? config.dataDir : null,
      default_plan: config.defaultPlan,
      paused_at: paused?.at ?? null,
      pause_reason: paused?.reason ?? null,
      setup_link: untold && address !== null ? setupLink(config, untold) : null,
      first_app:
        untold && address !== null
          ? {
              name: demoAppName,
              server_key: untold.serverKey,
              client_key: untold.clientKey,
              demo: demoLink(baseOf(address), untold),
            }
          : null,
    }),
    async keep(address) {
      if (!untold || address === null) return;
      // The file is renamed into place, so that a reader never sees half of it.
      const unfinished = `${firstRunFile(config)}.part`;
      await writeFile(unfinished, describeForFile(baseOf(address), config, untold), { mode: 0o600 });
      await rename(unfinished, firstRunFile(config));
    },
    async wasShown(address) {
      if (untold && address !== null) await rm(untoldFile(config), { force: true });
    },
  };
}

function describeStart(
  { config, plans }: FirstStartDeps,
  address: string | null,
  base: string,
  data: string,
): string[] {
  const limits = describePlan(planNamed(plans, config.defaultPlan));
  return [
    '',
    address === null ? '  Carillon works' : `  Carillon is up at ${address}`,
    '',
    ...(address === null ? [] : [`  Console     ${consoleAddress(base)}`]),
    `  Data        ${data}`,
    ...(config.databaseUrl === null ? [`  Keys, files ${config.dataDir}`] : []),
    ...(limits === null
      ? []
      : [`  Plan        new apps are on ${limits}; lift it: ${programName} app plan APP unlimited`]),
    ...(config.publicUrl === null
      ? ['  PUBLIC_URL  is not set: pushes carry the real url, and clicks on Apple endpoints are not counted']
      : []),
  ];
}

function describeWaiting(paused: Pause | null): string[] {
  if (!paused) return [];
  return [
    '',
    `  *** PAUSED ***  nothing is sent until somebody says: ${programName} resume`,
    `  ${describePause(paused)}`,
  ];
}

function describeKeys(keys: DemoKeys, config: Config, base: string): string[] {
  return [
    '',
    `  The app '${demoAppName}' was made. Its keys are shown this once, and kept in`,
    `  ${firstRunFile(config)}:`,
    '',
    `  Server key  ${keys.serverKey}`,
    `  Client key  ${keys.clientKey}`,
    '',
    '  Ring your own browser: open this link, allow notifications, and follow the page.',
    `  Demo        ${demoLink(base, keys)}`,
    '',
    `  ${warnOfOpenIdentity(demoAppName)}`,
    '',
    ...secrecy.map((line) => `  ${line}`),
  ];
}

/**
 * A warning about other readers of the keys, and what to do about them. It is printed wherever the
 * keys are.
 */
const secrecy = [
  'The server key is a secret: it may do everything in this app. Everybody who reads this text has it, and the log of a',
  'container keeps this text. Where others can read that log, replace the key and then delete the file:',
  `  ${programName} key list ${demoAppName}                 names the keys, key_…`,
  `  ${programName} key rotate KEY --overlap 0    prints a new key and ends the old one now`,
] as const;

/** The link that makes the first owner of the console; a path while PUBLIC_URL is not known. */
function setupLink({ publicUrl }: Config, { setupPath }: DemoKeys): string | null {
  return setupPath && `${publicUrl ?? ''}${setupPath}`;
}

function describeSetup(keys: DemoKeys, config: Config): string[] {
  const link = setupLink(config, keys);
  if (link === null) return [];
  return [
    '',
    config.publicUrl === null
      ? '  Become the owner of the console: open this path at the address of Carillon, once. Everybody who has it can.'
      : '  Become the owner of the console: open this link, once. Everybody who has it can.',
    `  Set up      ${link}`,
  ];
}

function describeForFile(base: string, config: Config, keys: DemoKeys): string {
  const setup = setupLink(config, keys);
  return [
    `Carillon, app '${demoAppName}'`,
    '',
    `server key  ${keys.serverKey}`,
    `client key  ${keys.clientKey}`,
    `demo        ${demoLink(base, keys)}`,
    ...(setup === null ? [] : [`set up      ${setup}`]),
    '',
    warnOfOpenIdentity(demoAppName),
    '',
    ...secrecy,
    '',
  ].join('\n');
}

function consoleAddress(base: string): string {
  return `${base}/console/`;
}

function demoLink(base: string, { clientKey }: DemoKeys): string {
  return `${base}/demo#${clientKey}`;
}

interface DemoKeys {
  readonly serverKey: string;
  readonly clientKey: string;
  /** The path of the set-up link; null: the console has an owner. */
  readonly setupPath: string | null;
}

export const firstRunFile = (config: Config): string => join(config.dataDir, 'first-run.txt');
/**
 * The file of keys that no start has shown yet. The start that shows them writes first-run.txt and
 * deletes this file.
 */
export const untoldFile = (config: Config): string => join(config.dataDir, 'first-run.untold.json');

/**
 * Makes the app Demo in a database without apps, and returns its keys until they were shown. The
 * VAPID key is made last and marks the end: a start that died before it is finished by the next
 * start, with new keys.
 */
async function makeDemoApp({ sql, seal, config }: FirstStartDeps): Promise<DemoKeys | undefined> {
  const clock = await createClock(sql);
  const [first, ...others] = await listApps(sql);
  const isUnfinished =
    first?.name === demoAppName && others.length === 0 && (await listCredentials(sql, first.id)).length === 0;
  if (first && !isUnfinished) return readUntold(config);

  const { id, serverKey, clientKey } = first
    ? await makeKeys(sql, clock, first.id)
    : await createApp({ sql, clock, by }, demoApp(config));
  const keys = { serverKey, clientKey, setupPath: await makeSetupPath(sql, clock) };
  await writeFile(untoldFile(config), JSON.stringify(keys), { mode: 0o600, flush: true });

  const vapid = generateVapidKeys();
  await saveCredential(
    { sql, clock, by, seal },
    {
      appId: id,
      channel: 'webpush',
      public: { publicKey: vapid.publicKey, subject: defaultVapidSubject },
      secret: vapid.privateKey,
    },
  );
  return keys;
}

async function readUntold(config: Config): Promise<DemoKeys | undefined> {
  const kept = await ifThere(readFile(untoldFile(config), 'utf8'));
  // A file of an earlier release has no link.
  return kept === undefined ? undefined : { setupPath: null, ...(JSON.parse(kept) as Omit<DemoKeys, 'setupPath'>) };
}

async function makeSetupPath(sql: Sql, clock: Clock): Promise<string | null> {
  if (await hasOwner(sql)) return null;
  const { secret } = await createSetupLink({ sql, clock, by }, firstOrganisationId);
  return linkPath('setup', secret);
}

function demoApp(config: Config): { name: string; plan: string } {
  return { name: demoAppName, plan: config.defaultPlan };
}

async function makeKeys(sql: Sql, clock: Clock, appId: Uuid): Promise<NewApp> {
  const server = await createKey({ sql, clock, by }, { appId, scope: 'server', name: 'Server key' });
  const client = await createKey({ sql, clock, by }, { appId, scope: 'client', name: 'Client key' });
  return { id: appId, serverKey: server.text, clientKey: client.text };
}
