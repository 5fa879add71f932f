// Reads the environment into one frozen Config. Only this file reads process.env. A wrong value
// stops the start and names its variable.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';

export type Role = 'all' | 'api' | 'worker';

export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** In lower case, without an @. */
  readonly domains: readonly string[];
  /** The role of people whom a domain lets in. */
  readonly role: 'viewer' | 'member' | 'admin';
  /** True: nobody signs in by password. */
  readonly isOnly: boolean;
}

export interface Config {
  readonly host: string;
  readonly port: number;
  /**
   * The address at which browsers and devices reach the service, without a trailing slash; null: it
   * is not known.
   */
  readonly publicUrl: string | null;
  /** Null: the embedded database. */
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  /** The path of `.env` where that file itself holds a secret; null: it holds none. */
  readonly secretEnvFile: string | null;
  /** False: the data directory is the default, which depends on the working directory. */
  readonly isDataDirGiven: boolean;
  /** Base64 as given; null: the key is generated into the data directory. */
  readonly masterKey: string | null;
  readonly masterKeyPrevious: string | null;
  readonly role: Role;
  readonly workers: number | null;
  readonly sendWaitMs: number;
  /** Origins of the providers, and Google's address for access tokens. */
  readonly apnsUrl: string;
  readonly apnsSandboxUrl: string;
  readonly fcmUrl: string;
  readonly fcmTokenUrl: string;
  readonly pushHosts: readonly string[];
  readonly outboundAllowCidrs: readonly string[];
  readonly outboundAllowPorts: string;
  readonly outboundResolve: string;
  readonly outboundCaFile: string | null;
  readonly http2Client: 'own' | 'node';
  readonly plansFile: string | null;
  readonly defaultPlan: string;
  /** Waits after the attempts at a webhook event, in seconds. */
  readonly webhookRetrySeconds: readonly number[];
  readonly webhookFailurePauseMsMax: number;
  readonly retentionDays: number;
  /** Null: events are kept for ever. */
  readonly eventRetentionDays: number | null;
  /** New devices that client keys may register a minute, per client address; null: no limit. */
  readonly newDevicesPerMinute: number | null;
  /** Addresses and ranges in CIDR notation. */
  readonly trustedProxies: readonly string[];
  /** A port of its own for /metrics; null: none. */
  readonly metricsPort: number | null;
  /** Callers with this token may read /metrics on the main port too; null: no caller may. */
  readonly metricsToken: string | null;
  /** The provider of OpenID Connect that people of the console sign in with; null: none. */
  readonly oidc: OidcConfig | null;
  readonly logLevel: string;
  /** True: the start pauses sends, for all processes. */
  readonly startPaused: boolean;
  readonly allowUnsafePostgres: boolean;
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
 * Every variable with its default as text. `.env.example` and docs/configuration.md list the same
 * variables.
 */
export const variables = {
  HOST: '127.0.0.1',
  PORT: '8080',
  PUBLIC_URL: '',
  DATABASE_URL: '',
  DATA_DIR: './data',
  MASTER_KEY: '',
  MASTER_KEY_PREVIOUS: '',
  ROLE: 'all',
  WORKERS: '',
  SEND_WAIT_MS: '20000',
  APNS_URL: 'https://api.push.apple.com',
  APNS_SANDBOX_URL: 'https://api.sandbox.push.apple.com',
  FCM_URL: 'https://fcm.googleapis.com',
  FCM_TOKEN_URL: 'https://oauth2.googleapis.com/token',
  PUSH_HOSTS: '',
  OUTBOUND_ALLOW_CIDRS: '',
  OUTBOUND_ALLOW_PORTS: '',
  OUTBOUND_RESOLVE: '',
  OUTBOUND_CA_FILE: '',
  HTTP2_CLIENT: 'own',
  PLANS_FILE: '',
  DEFAULT_PLAN: 'free',
  WEBHOOK_RETRY_SCHEDULE: '5,30,120,600,1800,3600,7200,14400,28800,43200',
  WEBHOOK_FAILURE_PAUSE_MAX_MS: '2000',
  RETENTION_DAYS: '90',
  EVENT_RETENTION_DAYS: '',
  NEW_DEVICES_PER_MINUTE: '3000',
  TRUSTED_PROXIES: '',
  METRICS_PORT: '',
  METRICS_TOKEN: '',
  OIDC_ISSUER: '',
  OIDC_CLIENT_ID: '',
  OIDC_CLIENT_SECRET: '',
  OIDC_DOMAINS: '',
  OIDC_ROLE: 'viewer',
  OIDC_ONLY: '0',
  LOG_LEVEL: 'info',
  START_PAUSED: '0',
  ALLOW_UNSAFE_POSTGRES: '0',
} as const;

export type Variable = keyof typeof variables;

/**
 * Returns the environment that a process of the service is started with. libuv looks up names on
 * half of its threads, two by default, so two names that are never resolved would block all other
 * lookups. glibc waits five seconds for a silent name server before it asks the next one, and does
 * so twice; five seconds are all the time that an endpoint has.
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
  const optional = (name: Variable): string | null => read(name) || null;
  const path = (given: string | null): string | null => given && resolve(workingDir, given);

  const host = read('HOST');
  const port = integer(read('PORT'), 'PORT', 0, 65_535);
  const ownUrl = publicUrl(read('PUBLIC_URL'), host, port);
  return Object.freeze({
    host,
    port,
    publicUrl: ownUrl,
    databaseUrl: databaseUrl(optional('DATABASE_URL')),
    dataDir: resolve(workingDir, read('DATA_DIR')),
    secretEnvFile: secretVariables.some((name) => (file[name] ?? '').trim() !== '') ? envFile : null,
    isDataDirGiven: (environment['DATA_DIR'] ?? file['DATA_DIR']) !== undefined,
    masterKey: optional('MASTER_KEY'),
    masterKeyPrevious: optional('MASTER_KEY_PREVIOUS'),
    role: oneOf(read('ROLE'), 'ROLE', ['all', 'api', 'worker']),
    workers: read('WORKERS') === '' ? null : integer(read('WORKERS'), 'WORKERS', 1, 256),
    sendWaitMs: integer(read('SEND_WAIT_MS'), 'SEND_WAIT_MS', 0, 600_000),
    apnsUrl: providerUrl(read('APNS_URL'), 'APNS_URL', 'origin'),
    apnsSandboxUrl: providerUrl(read('APNS_SANDBOX_URL'), 'APNS_SANDBOX_URL', 'origin'),
    fcmUrl: providerUrl(read('FCM_URL'), 'FCM_URL', 'origin'),
    fcmTokenUrl: providerUrl(read('FCM_TOKEN_URL'), 'FCM_TOKEN_URL', 'path'),
    pushHosts: list(read('PUSH_HOSTS')),
    outboundAllowCidrs: list(read('OUTBOUND_ALLOW_CIDRS')),
    outboundAllowPorts: read('OUTBOUND_ALLOW_PORTS'),
    outboundResolve: read('OUTBOUND_RESOLVE'),
    outboundCaFile: path(optional('OUTBOUND_CA_FILE')),
    http2Client: oneOf(read('HTTP2_CLIENT'), 'HTTP2_CLIENT', ['own', 'node']),
    plansFile: path(optional('PLANS_FILE')),
    defaultPlan: read('DEFAULT_PLAN'),
    webhookRetrySeconds: retrySchedule(read('WEBHOOK_RETRY_SCHEDULE')),
    webhookFailurePauseMsMax: integer(
      read('WEBHOOK_FAILURE_PAUSE_MAX_MS'),
      'WEBHOOK_FAILURE_PAUSE_MAX_MS',
      0,
      3_600_000,
    ),
    retentionDays: integer(read('RETENTION_DAYS'), 'RETENTION_DAYS', 30, 36_500),
    // At least 31 days, because a purchase is credited up to 30 days after it, from the records of
    // that time.
    eventRetentionDays:
      read('EVENT_RETENTION_DAYS') === ''
        ? null
        : integer(read('EVENT_RETENTION_DAYS'), 'EVENT_RETENTION_DAYS', 31, 36_500),
    // An empty value means the default, because files from before there was a default have an empty
    // value.
    newDevicesPerMinute:
      integer(
        read('NEW_DEVICES_PER_MINUTE') || variables.NEW_DEVICES_PER_MINUTE,
        'NEW_DEVICES_PER_MINUTE',
        0,
        1_000_000,
      ) || null,
    trustedProxies: list(read('TRUSTED_PROXIES')),
    metricsPort: read('METRICS_PORT') === '' ? null : integer(read('METRICS_PORT'), 'METRICS_PORT', 0, 65_535),
    metricsToken: metricsToken(optional('METRICS_TOKEN')),
    oidc: oidcConfig(read, ownUrl),
    logLevel: oneOf(read('LOG_LEVEL'), 'LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    startPaused: oneOf(read('START_PAUSED'), 'START_PAUSED', ['0', '1']) === '1',
    allowUnsafePostgres: oneOf(read('ALLOW_UNSAFE_POSTGRES'), 'ALLOW_UNSAFE_POSTGRES', ['0', '1']) === '1',
  });
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

function integer(text: string, name: Variable, least: number, most: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most))
    throw new ConfigError(`${name} must be a whole number from ${least} to ${most}, not '${text}'.`);
  return value;
}

function retrySchedule(text: string): readonly number[] {
  const seconds = text.split(',').map((part) => integer(part.trim(), 'WEBHOOK_RETRY_SCHEDULE', 1, 604_800));
  return Object.freeze(seconds);
}

function oneOf<Value extends string>(text: string, name: Variable, allowed: readonly Value[]): Value {
  const value = allowed.find((candidate) => candidate === text);
  if (value === undefined) throw new ConfigError(`${name} must be one of ${allowed.join(', ')}, not '${text}'.`);
  return value;
}

function list(text: string): readonly string[] {
  return Object.freeze(
    text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  );
}

// Null is the default for a host that means "every interface", and for a port that the system
// chooses: a browser cannot be sent to such an address.
function publicUrl(text: string, host: string, port: number): string | null {
  if (text === '') {
    if (host === '0.0.0.0' || host === '::' || port === 0) return null;
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new ConfigError(`PUBLIC_URL must be an http or https address without query, not '${text}'.`);
  }
  return url.href.replace(/(?<!\/)\/+$/, '');
}

// An empty value means the real provider: a variable that is set to nothing must not leave phones
// without a provider.
function providerUrl(text: string, name: Variable, kind: 'origin' | 'path'): string {
  const given = text || variables[name];
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const isClean = url?.protocol === 'https:' && !url.search && !url.hash && !url.username && !url.password;
  if (!url || !isClean || (kind === 'origin' && url.pathname !== '/')) {
    const what = kind === 'origin' ? 'an https origin without a path' : 'an https address without query';
    throw new ConfigError(`${name} must be ${what}, not '${given}'.`);
  }
  return kind === 'origin' ? url.origin : url.href;
}

// A short token is refused, because anybody who reaches the service may try tokens and would find
// it.
function metricsToken(text: string | null): string | null {
  if (text !== null && !/^[!-~]{16,512}$/.test(text)) {
    throw new ConfigError('METRICS_TOKEN must have 16 to 512 characters, none of them a space.');
  }
  return text;
}

function oidcConfig(read: (name: Variable) => string, ownUrl: string | null): OidcConfig | null {
  const role = oneOf(read('OIDC_ROLE'), 'OIDC_ROLE', ['viewer', 'member', 'admin']);
  const isOnly = oneOf(read('OIDC_ONLY'), 'OIDC_ONLY', ['0', '1']) === '1';
  const domains = list(read('OIDC_DOMAINS').toLowerCase());
  for (const domain of domains) {
    if (!/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/.test(domain))
      throw new ConfigError(`OIDC_DOMAINS lists domains such as shop.example, not '${domain}'.`);
  }
  const names = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'] as const;
  const [missing, ...others] = names.filter((name) => read(name) === '');
  if (missing && others.length === names.length - 1) {
    if (isOnly) throw new ConfigError('OIDC_ONLY=1 needs OIDC_ISSUER: nobody could sign in.');
    return null;
  }
  if (missing) throw new ConfigError(`${missing} is missing: ${names.join(', ')} belong together.`);
  const issuer = read('OIDC_ISSUER');
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  const isNear = url?.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  const isClean = (url?.protocol === 'https:' || isNear) && !url?.search && !url?.hash && !url?.username;
  if (!isClean) throw new ConfigError(`OIDC_ISSUER must be an https address without query, not '${issuer}'.`);
  if (isOnly && ownUrl === null)
    throw new ConfigError('OIDC_ONLY=1 needs PUBLIC_URL: the provider sends people back to it.');
  return Object.freeze({
    issuer,
    clientId: read('OIDC_CLIENT_ID'),
    clientSecret: read('OIDC_CLIENT_SECRET'),
    domains,
    role,
    isOnly,
  });
}

function databaseUrl(text: string | null): string | null {
  if (text !== null && !/^postgres(ql)?:\/\//.test(text)) {
    throw new ConfigError('DATABASE_URL must be a postgres:// address.');
  }
  return text;
}
