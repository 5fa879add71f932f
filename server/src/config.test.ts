import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
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
      newDevicesPerMinute: null,
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
    ['NEW_DEVICES_PER_MINUTE', '0'],
    ['NEW_DEVICES_PER_MINUTE', 'none'],
    ['METRICS_PORT', 'own'],
    ['METRICS_TOKEN', 'short'],
    ['ALLOW_UNSAFE_POSTGRES', 'yes'],
  ])('stops the start and names %s for %j', (name, value) => {
    expect(() => loadConfig({ [name]: value }, nowhere)).toThrow(ConfigError);
    expect(() => loadConfig({ [name]: value }, nowhere)).toThrow(name);
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

  it('sends to the real providers unless told otherwise, also when told nothing', () => {
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

describe('what a process is started with', () => {
  it('R-27 is threads for names that hang, and two seconds for a name server that does, unless the operator says otherwise', () => {
    const own = { UV_THREADPOOL_SIZE: '32', RES_OPTIONS: 'timeout:2 attempts:2' };
    expect(processEnvironment({ PORT: '1' })).toEqual({ ...own, PORT: '1' });
    expect(processEnvironment({ RES_OPTIONS: 'timeout:9' })).toEqual({ ...own, RES_OPTIONS: 'timeout:9' });
  });
});
