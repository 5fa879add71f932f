// Reads the environment into one frozen Config. Only this file reads process.env. A wrong value
// stops the start and names its variable.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { z } from 'zod';

export type Role = 'all' | 'api' | 'worker';

const text = z.string();
/** A text; null where it is empty. */
const someText = optional(text);
const flag = oneOf(['0', '1']).transform((value) => value === '1');
const list = text.transform((value) => Object.freeze(partsOf(value)));

/** Every variable once: its name, its default as text, and its rule. */
const settings = {
  host: setting('HOST', '127.0.0.1', text),
  port: setting('PORT', '8080', integer(0, 65_535)),
  /**
   * The address at which browsers and devices reach the service, without a trailing slash; null: it
   * is not known.
   */
  publicUrl: setting('PUBLIC_URL', '', optional(publicUrl())),
  /** Null: the embedded database. */
  databaseUrl: setting(
    'DATABASE_URL',
    '',
    optional(text.regex(/^postgres(ql)?:\/\//, 'must be a postgres:// address')),
  ),
  dataDir: setting('DATA_DIR', './data', text),
  /** Base64 as given; null: the key is generated into the data directory. */
  masterKey: setting('MASTER_KEY', '', someText),
  masterKeyPrevious: setting('MASTER_KEY_PREVIOUS', '', someText),
  role: setting('ROLE', 'all', oneOf(['all', 'api', 'worker'])),
  workers: setting('WORKERS', '', optional(integer(1, 256))),
  sendWaitMs: setting('SEND_WAIT_MS', '20000', integer(0, 600_000)),
  /** Origins of the providers, and Google's address for access tokens. */
  apnsUrl: provider('APNS_URL', 'https://api.push.apple.com', 'origin'),
  apnsSandboxUrl: provider('APNS_SANDBOX_URL', 'https://api.sandbox.push.apple.com', 'origin'),
  fcmUrl: provider('FCM_URL', 'https://fcm.googleapis.com', 'origin'),
  fcmTokenUrl: provider('FCM_TOKEN_URL', 'https://oauth2.googleapis.com/token', 'path'),
  pushHosts: setting('PUSH_HOSTS', '', list),
  outboundAllowCidrs: setting('OUTBOUND_ALLOW_CIDRS', '', list),
  outboundAllowPorts: setting('OUTBOUND_ALLOW_PORTS', '', text),
  outboundResolve: setting('OUTBOUND_RESOLVE', '', text),
  outboundCaFile: setting('OUTBOUND_CA_FILE', '', someText),
  http2Client: setting('HTTP2_CLIENT', 'own', oneOf(['own', 'node'])),
  plansFile: setting('PLANS_FILE', '', someText),
  defaultPlan: setting('DEFAULT_PLAN', 'free', text),
  /** Waits after the attempts at a webhook event, in seconds. */
  webhookRetrySeconds: setting(
    'WEBHOOK_RETRY_SCHEDULE',
    '5,30,120,600,1800,3600,7200,14400,28800,43200',
    text
      .transform((value) => value.split(',').map((part) => part.trim()))
      .pipe(z.array(integer(1, 604_800)))
      .transform((seconds) => Object.freeze(seconds)),
  ),
  webhookFailurePauseMsMax: setting('WEBHOOK_FAILURE_PAUSE_MAX_MS', '2000', integer(0, 3_600_000)),
  retentionDays: setting('RETENTION_DAYS', '90', integer(30, 36_500)),
  /**
   * Null: events are kept for ever. At least 31 days, because a purchase is credited up to 30 days
   * after it, from the records of that time.
   */
  eventRetentionDays: setting('EVENT_RETENTION_DAYS', '', optional(integer(31, 36_500))),
  /**
   * New devices that client keys may register a minute, per client address; null: no limit. Files
   * from before there was a default have an empty value, which means the default.
   */
  newDevicesPerMinute: settingWithDefault(
    'NEW_DEVICES_PER_MINUTE',
    '3000',
    integer(0, 1_000_000).transform((value) => value || null),
  ),
  /** Addresses and ranges in CIDR notation. */
  trustedProxies: setting('TRUSTED_PROXIES', '', list),
  /** A port of its own for /metrics; null: none. */
  metricsPort: setting('METRICS_PORT', '', optional(integer(0, 65_535))),
  /**
   * Callers with this token may also read /metrics on the main port; null: no caller may. A short
   * token is refused, because anybody who reaches the service could guess it.
   */
  metricsToken: setting(
    'METRICS_TOKEN',
    '',
    optional(text.regex(/^[!-~]{16,512}$/, 'must have 16 to 512 characters, none of them a space')),
  ),
  oidcIssuer: setting('OIDC_ISSUER', '', optional(oidcIssuer())),
  oidcClientId: setting('OIDC_CLIENT_ID', '', someText),
  oidcClientSecret: setting('OIDC_CLIENT_SECRET', '', someText),
  oidcDomains: setting('OIDC_DOMAINS', '', mailDomains()),
  oidcRole: setting('OIDC_ROLE', 'viewer', oneOf(['viewer', 'member', 'admin'])),
  oidcOnly: setting('OIDC_ONLY', '0', flag),
  logLevel: setting('LOG_LEVEL', 'info', oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])),
  /** True: the start pauses sends, for all processes. */
  startPaused: setting('START_PAUSED', '0', flag),
  allowUnsafePostgres: setting('ALLOW_UNSAFE_POSTGRES', '0', flag),
};

type Field = keyof typeof settings;
export type Variable = (typeof settings)[Field]['name'];
type Settings = { readonly [Each in Field]: z.output<(typeof settings)[Each]['rule']> };

/**
 * Every variable with its default as text. `.env.example` and docs/configuration.md list the same
 * variables.
 */
export const variables = Object.fromEntries(
  Object.values(settings).map(({ name, byDefault }) => [name, byDefault]),
) as Readonly<Record<Variable, string>>;

export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** In lower case, without an @. */
  readonly domains: readonly string[];
  /** The role that people of an allowed domain get. */
  readonly role: Settings['oidcRole'];
  /** True: nobody signs in by password. */
  readonly isOnly: boolean;
}

export interface Config extends Omit<Settings, Extract<Field, `oidc${string}`>> {
  /** The path of `.env`, if that file holds a secret; null: it holds none. */
  readonly secretEnvFile: string | null;
  /** False: the data directory is the default, which depends on the working directory. */
  readonly isDataDirGiven: boolean;
  /** True: `HOST`, `PORT` or `PUBLIC_URL` is given. False: the address is the default one. */
  readonly isAddressGiven: boolean;
  /** The provider of OpenID Connect that people of the console sign in with; null: none. */
  readonly oidc: OidcConfig | null;
}

/**
 * Each of these variables may be given as a path to a file, in a variable with `_FILE` at the end
 * of its name.
 */
export const secretVariables = [
  'DATABASE_URL',
  'MASTER_KEY',
  'MASTER_KEY_PREVIOUS',
  'OIDC_CLIENT_SECRET',
  'METRICS_TOKEN',
] as const;

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Returns the environment that a process of the service is started with. libuv looks up names on
 * half of its threads, two by default. Two names that never resolve would then block all other
 * lookups. glibc waits five seconds for a silent name server before it asks the next one, and does
 * so twice. An endpoint has only five seconds in all.
 */
export function processEnvironment(environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return { UV_THREADPOOL_SIZE: '32', RES_OPTIONS: 'timeout:2 attempts:2', ...environment };
}

/**
 * Reads the environment and, beneath it, a `.env` file in the working directory. `defaults` replace
 * the defaults of the variables that they name. Throws `ConfigError`.
 */
export function loadConfig(
  environment: NodeJS.ProcessEnv = process.env,
  workingDir: string = process.cwd(),
  defaults: Partial<Record<Variable, string>> = {},
): Config {
  const envFile = join(workingDir, '.env');
  const file = readDotEnv(envFile);
  const secrets = new Map<string, string>();
  for (const name of secretVariables) {
    // The environment wins over `.env`, whether it gives the secret or a path to the secret.
    const isIn = (given: Given): boolean => [name, `${name}_FILE`].some((each) => (given[each] ?? '').trim() !== '');
    const text = readSecretFile([environment, file].find(isIn) ?? {}, name, workingDir);
    if (text !== undefined) secrets.set(name, text);
  }
  const read = (name: Variable): string =>
    (secrets.get(name) ?? environment[name] ?? file[name] ?? defaults[name] ?? variables[name]).trim();
  const isGiven = (name: Variable): boolean => (environment[name] ?? file[name]) !== undefined;
  const path = (given: string | null): string | null => given && resolve(workingDir, given);

  const { oidcIssuer, oidcClientId, oidcClientSecret, oidcDomains, oidcRole, oidcOnly, ...given } = parse(read);
  const publicUrl = given.publicUrl ?? ownAddress(given.host, given.port);
  return Object.freeze({
    ...given,
    publicUrl,
    dataDir: resolve(workingDir, given.dataDir),
    outboundCaFile: path(given.outboundCaFile),
    plansFile: path(given.plansFile),
    secretEnvFile: secretVariables.some((name) => (file[name] ?? '').trim() !== '') ? envFile : null,
    isDataDirGiven: isGiven('DATA_DIR'),
    isAddressGiven: isGiven('HOST') || isGiven('PORT') || isGiven('PUBLIC_URL'),
    oidc: oidcConfig(),
  });

  function oidcConfig(): OidcConfig | null {
    if (oidcIssuer === null && oidcClientId === null && oidcClientSecret === null) {
      if (oidcOnly) throw new ConfigError('OIDC_ONLY=1 needs OIDC_ISSUER: nobody could sign in.');
      return null;
    }
    if (oidcIssuer === null || oidcClientId === null || oidcClientSecret === null) {
      const names = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'] as const;
      const missing = names.find((name) => read(name) === '');
      throw new ConfigError(`${missing} is missing: ${names.join(', ')} belong together.`);
    }
    if (oidcOnly && publicUrl === null)
      throw new ConfigError('OIDC_ONLY=1 needs PUBLIC_URL: the provider sends people back to it.');
    return Object.freeze({
      issuer: oidcIssuer,
      clientId: oidcClientId,
      clientSecret: oidcClientSecret,
      domains: oidcDomains,
      role: oidcRole,
      isOnly: oidcOnly,
    });
  }
}

/**
 * Parses every variable. The error for a wrong variable quotes its value, or the wrong part of a
 * list. It never quotes a secret.
 */
function parse(read: (name: Variable) => string): Settings {
  const isSecret = (name: string): boolean => secretVariables.some((secret) => secret === name);
  const values = Object.entries(settings).map(([field, { name, rule }]) => {
    const { data, error } = rule.safeParse(read(name));
    if (error === undefined) return [field, data];
    const [issue] = error.issues;
    const place = issue?.path[0];
    const wrong = typeof place === 'number' ? read(name).split(',')[place]?.trim() : read(name);
    throw new ConfigError(`${name} ${issue?.message}${isSecret(name) ? '' : `, not '${wrong}'`}.`);
  });
  return Object.fromEntries(values) as Settings;
}

function readDotEnv(path: string): Record<string, string | undefined> {
  try {
    return parseEnv(readFileSync(path, 'utf8')) as Record<string, string | undefined>;
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return {};
    throw new ConfigError(`.env cannot be read: ${(error as Error).message}`);
  }
}

type Given = Readonly<Record<string, string | undefined>>;

/**
 * Reads the file that `NAME_FILE` names; undefined: that variable is not set. Throws `ConfigError`
 * for a file that cannot be read or is empty.
 */
function readSecretFile(given: Given, name: (typeof secretVariables)[number], workingDir: string): string | undefined {
  const path = (given[`${name}_FILE`] ?? '').trim();
  if (path === '') return undefined;
  if ((given[name] ?? '').trim() !== '') throw new ConfigError(`Set ${name} or ${name}_FILE, not both.`);
  let text: string;
  try {
    text = readFileSync(resolve(workingDir, path), 'utf8').trim();
  } catch (error) {
    throw new ConfigError(`${name}_FILE cannot be read: ${(error as Error).message}`);
  }
  if (text === '') throw new ConfigError(`${name}_FILE: ${path} is empty.`);
  return text;
}

function setting<const Name extends string, Rule extends z.ZodType>(name: Name, byDefault: string, rule: Rule) {
  return { name, byDefault, rule };
}

/** A setting whose empty value means its default. */
function settingWithDefault<const Name extends string, Rule extends z.ZodType>(
  name: Name,
  byDefault: string,
  rule: Rule,
) {
  return setting(
    name,
    byDefault,
    z.preprocess((value) => value || byDefault, rule),
  );
}

// An empty value means the real provider, so that an empty variable does not leave phones without
// one.
function provider<const Name extends string>(name: Name, byDefault: string, kind: 'origin' | 'path') {
  const must = `must be ${kind === 'origin' ? 'an https origin without a path' : 'an https address without query'}`;
  const isRight = (url: URL): boolean =>
    url.protocol === 'https:' && !hasMoreThanPath(url) && (kind === 'path' || url.pathname === '/');
  return settingWithDefault(
    name,
    byDefault,
    address(must, isRight).transform((url) => (kind === 'origin' ? url.origin : url.href)),
  );
}

/** A rule that reads an empty value as null. */
function optional<Rule extends z.ZodType>(rule: Rule) {
  return z.preprocess((value) => value || null, rule.nullable());
}

function oneOf<const Value extends string>(values: readonly Value[]) {
  return z.enum(values, `must be one of ${values.join(', ')}`);
}

function integer(least: number, most: number) {
  const must = `must be a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, { error: must, abort: true })
    .transform(Number)
    .pipe(z.number().min(least, must).max(most, must));
}

function address(must: string, isRight: (url: URL) => boolean) {
  return z
    .string()
    .transform((value) => (URL.canParse(value) ? new URL(value) : null))
    .refine((url) => url !== null && isRight(url), must)
    .transform((url) => url as URL);
}

function publicUrl() {
  const isRight = (url: URL): boolean => /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username;
  return address('must be an http or https address without query', isRight).transform(({ href }) =>
    href.replace(/(?<!\/)\/+$/, ''),
  );
}

function oidcIssuer() {
  const isNear = (url: URL): boolean =>
    url.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  const isRight = (url: URL): boolean =>
    (url.protocol === 'https:' || isNear(url)) && !url.search && !url.hash && !url.username;
  return text.refine(
    (value) => URL.canParse(value) && isRight(new URL(value)),
    'must be an https address without query',
  );
}

function mailDomains() {
  const domain = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/;
  return text
    .transform((value) => Object.freeze(partsOf(value.toLowerCase())))
    .refine((domains) => domains.every((each) => domain.test(each)), 'must list domains such as shop.example');
}

function hasMoreThanPath({ search, hash, username, password }: URL): boolean {
  return [search, hash, username, password].some((part) => part !== '');
}

function partsOf(list: string): string[] {
  return list
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

// Null for a host that means "every interface", and for a port that the system chooses: a browser
// cannot open such an address.
function ownAddress(host: string, port: number): string | null {
  if (host === '0.0.0.0' || host === '::' || port === 0) return null;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
