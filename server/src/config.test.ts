import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ConfigError, loadConfig, processEnvironment, variables } from './config.ts';

const nowhere = '/nonexistent';
const names = Object.keys(variables).sort();

describe('the configuration', () => {
  it('has its documented defaults', () => {
    const config = loadConfig({}, nowhere);
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      publicUrl: 'http://127.0.0.1:8080',
      databaseUrl: null,
      role: 'all',
      workers: null,
      sendWaitMs: 20_000,
      http2Client: 'own',
      defaultPlan: 'free',
      newDevicesPerMinute: 3000,
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it.each([
    ['PORT', '80a'],
    ['PORT', '65536'],
    ['PUBLIC_URL', 'shop.example'],
    ['PUBLIC_URL', 'ftp://shop.example'],
    ['PUBLIC_URL', 'https://shop.example/?a=1'],
    ['DATABASE_URL', 'mysql://localhost/x'],
    ['ROLE', 'both'],
    ['WORKERS', '0'],
    ['SEND_WAIT_MS', '-1'],
    ['LOG_LEVEL', 'loud'],
    ['APNS_URL', 'http://api.push.apple.com'],
    ['APNS_SANDBOX_URL', 'https://localhost:8443/3/device'],
    ['FCM_URL', 'fcm.googleapis.com'],
    ['FCM_TOKEN_URL', 'https://user@oauth2.googleapis.com/token'],
    ['HTTP2_CLIENT', 'nghttp2'],
    ['NEW_DEVICES_PER_MINUTE', '-1'],
    ['NEW_DEVICES_PER_MINUTE', 'none'],
    ['METRICS_PORT', 'own'],
    ['METRICS_TOKEN', 'short'],
    ['ALLOW_UNSAFE_POSTGRES', 'yes'],
    ['OIDC_ROLE', 'owner'],
    ['OIDC_ONLY', 'yes'],
    ['OIDC_ONLY', '1'],
    ['OIDC_DOMAINS', '@shop.example'],
    ['OIDC_DOMAINS', '*.shop.example'],
    ['OIDC_DOMAINS', 'shop'],
  ])('stops the start and names %s for %j', (name, value) => {
    expect(() => loadConfig({ [name]: value }, nowhere)).toThrow(ConfigError);
    expect(() => loadConfig({ [name]: value }, nowhere)).toThrow(name);
  });

  it('quotes the wrong part of a list', () => {
    expect(() => loadConfig({ WEBHOOK_RETRY_SCHEDULE: '5, x, 30' }, nowhere)).toThrow(
      "WEBHOOK_RETRY_SCHEDULE must be a whole number from 1 to 604800, not 'x'.",
    );
  });

  describe('of OpenID Connect', () => {
    const oidc = {
      OIDC_ISSUER: 'https://login.shop.example',
      OIDC_CLIENT_ID: 'carillon',
      OIDC_CLIENT_SECRET: 'secret',
    };

    it('is read whole, with domains in lower case', () => {
      const given = { ...oidc, OIDC_DOMAINS: 'Shop.example, bells.example', OIDC_ROLE: 'member' };
      expect(loadConfig(given, nowhere).oidc).toEqual({
        issuer: 'https://login.shop.example',
        clientId: 'carillon',
        clientSecret: 'secret',
        domains: ['shop.example', 'bells.example'],
        role: 'member',
        isOnly: false,
      });
      expect(loadConfig({}, nowhere).oidc).toBeNull();
    });

    it.each(Object.keys(oidc))('stops the start where %s alone is missing, and names it', (name) => {
      expect(() => loadConfig({ ...oidc, [name]: '' }, nowhere)).toThrow(name);
    });

    it.each([
      ['plain http to another machine', 'http://login.shop.example'],
      ['a query', 'https://login.shop.example?a=b'],
      ['no address', 'login.shop.example'],
    ])('stops the start for an issuer with %s', (_name, issuer) => {
      expect(() => loadConfig({ ...oidc, OIDC_ISSUER: issuer }, nowhere)).toThrow('OIDC_ISSUER');
    });

    it('stops the start where nobody could sign in: OIDC_ONLY without PUBLIC_URL', () => {
      expect(() => loadConfig({ ...oidc, OIDC_ONLY: '1', HOST: '0.0.0.0' }, nowhere)).toThrow('PUBLIC_URL');
      expect(loadConfig({ ...oidc, OIDC_ONLY: '1' }, nowhere).oidc?.isOnly).toBe(true);
    });
  });

  it('has no public address by default when it listens on every interface', () => {
    expect(loadConfig({ HOST: '0.0.0.0' }, nowhere).publicUrl).toBeNull();
    expect(loadConfig({ HOST: '::' }, nowhere).publicUrl).toBeNull();
    expect(loadConfig({ PORT: '0' }, nowhere).publicUrl).toBeNull();
    expect(loadConfig({ HOST: '::1', PORT: '90' }, nowhere).publicUrl).toBe('http://[::1]:90');
    expect(loadConfig({ PUBLIC_URL: 'https://push.shop.example/' }, nowhere).publicUrl).toBe(
      'https://push.shop.example',
    );
  });

  it('sends to the real providers unless a variable names others, and an empty variable names none', () => {
    const real = {
      apnsUrl: 'https://api.push.apple.com',
      apnsSandboxUrl: 'https://api.sandbox.push.apple.com',
      fcmUrl: 'https://fcm.googleapis.com',
      fcmTokenUrl: 'https://oauth2.googleapis.com/token',
    };
    expect(loadConfig({}, nowhere)).toMatchObject(real);
    expect(loadConfig({ APNS_URL: '', FCM_TOKEN_URL: '' }, nowhere)).toMatchObject(real);
    expect(loadConfig({ APNS_URL: 'https://127.0.0.1:2197/' }, nowhere).apnsUrl).toBe('https://127.0.0.1:2197');
  });

  it('reads a .env file beneath the environment', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'carillon-env-'));
    await writeFile(join(dir, '.env'), 'PORT=9001\nHOST="0.0.0.0"\n');
    expect(loadConfig({ PORT: '9002' }, dir)).toMatchObject({ port: 9002, host: '0.0.0.0' });
    await rm(dir, { recursive: true });
  });

  describe('gives a secret as a path to a file', () => {
    const secret = { MASTER_KEY: Buffer.alloc(32, 1).toString('base64'), DATABASE_URL: 'postgres://u:p@db/d' };

    async function newDir(files: Record<string, string>): Promise<string> {
      const dir = await mkdtemp(join(tmpdir(), 'carillon-env-'));
      onTestFinished(() => rm(dir, { recursive: true }));
      for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
      return dir;
    }

    it.each([
      ['DATABASE_URL', 'databaseUrl', secret.DATABASE_URL],
      ['MASTER_KEY', 'masterKey', secret.MASTER_KEY],
      ['MASTER_KEY_PREVIOUS', 'masterKeyPrevious', secret.MASTER_KEY],
      ['METRICS_TOKEN', 'metricsToken', 'sixteen-characters'],
    ] as const)('%s_FILE, without the line break at its end', async (name, field, text) => {
      const dir = await newDir({ secret: `${text}\n`, '.env': `${name}_FILE=secret\n` });
      expect(loadConfig({}, dir)[field]).toBe(text);
      expect(loadConfig({ [`${name}_FILE`]: join(dir, 'secret') }, nowhere)[field]).toBe(text);
    });

    it('OIDC_CLIENT_SECRET_FILE, among the settings of the provider', async () => {
      const dir = await newDir({ secret: 'of a file\n' });
      const given = { OIDC_ISSUER: 'https://login.shop.example', OIDC_CLIENT_ID: 'carillon' };
      const { oidc } = loadConfig({ ...given, OIDC_CLIENT_SECRET_FILE: 'secret' }, dir);
      expect(oidc?.clientSecret).toBe('of a file');
    });

    it('in the environment before one of .env, and the other way round', async () => {
      const dir = await newDir({ secret: 'postgres://file/d', '.env': 'DATABASE_URL=postgres://dotenv/d\n' });
      expect(loadConfig({ DATABASE_URL_FILE: 'secret' }, dir).databaseUrl).toBe('postgres://file/d');
      const other = await newDir({ '.env': 'DATABASE_URL_FILE=missing\n' });
      expect(loadConfig({ DATABASE_URL: secret.DATABASE_URL }, other).databaseUrl).toBe(secret.DATABASE_URL);
    });

    it('and refuses a file that is missing, empty, or beside the variable itself, without its text', async () => {
      const dir = await newDir({ secret: 'not a url', empty: '\n' });
      const load = (given: Record<string, string>) => () => loadConfig(given, dir);
      expect(load({ MASTER_KEY_FILE: 'missing' })).toThrow(/^MASTER_KEY_FILE cannot be read: ENOENT/);
      expect(load({ MASTER_KEY_FILE: 'empty' })).toThrow(/^MASTER_KEY_FILE: empty is empty/);
      expect(load({ MASTER_KEY_FILE: 'secret', MASTER_KEY: secret.MASTER_KEY })).toThrow(
        'Set MASTER_KEY or MASTER_KEY_FILE, not both.',
      );
      expect(load({ DATABASE_URL_FILE: 'secret' })).toThrow(/^DATABASE_URL must be a postgres:\/\/ address\.$/);
    });

    it('and knows a .env that holds a secret itself', async () => {
      const plain = await newDir({ '.env': 'PORT=1\nMASTER_KEY=\n' });
      expect(loadConfig({}, plain).secretEnvFile).toBeNull();
      const holding = await newDir({ '.env': `MASTER_KEY=${secret.MASTER_KEY}\n` });
      expect(loadConfig({}, holding).secretEnvFile).toBe(join(holding, '.env'));
    });
  });

  it('is the same list in .env.example and in docs/configuration.md', () => {
    const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
    const inExample = [...read('.env.example').matchAll(/^([A-Z0-9_]+)=/gm)].map((match) => match[1]);
    expect(inExample.sort()).toEqual(names);
    const table = read('docs/configuration.md')
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const inDocs = table.flatMap((line) =>
      [...(line.split('|')[1] ?? '').matchAll(/`([A-Z0-9_]+)`/g)].map((match) => match[1]),
    );
    expect(inDocs.sort()).toEqual(names);
  });

  it('has in .env.example the defaults of the code', () => {
    const text = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8');
    const given = Object.fromEntries([...text.matchAll(/^([A-Z0-9_]+)=(.*)$/gm)].map((match) => [match[1], match[2]]));
    expect(given).toEqual(variables);
  });
});

describe('the environment of a started process', () => {
  it('R-27 has threads for names that hang, and two seconds for a name server that hangs, unless the operator sets others', () => {
    const own = { UV_THREADPOOL_SIZE: '32', RES_OPTIONS: 'timeout:2 attempts:2' };
    expect(processEnvironment({ PORT: '1' })).toEqual({ ...own, PORT: '1' });
    expect(processEnvironment({ RES_OPTIONS: 'timeout:9' })).toEqual({ ...own, RES_OPTIONS: 'timeout:9' });
  });
});
