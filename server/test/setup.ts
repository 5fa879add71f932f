// The bundle of a test: a running service on a database of its own, with an app, both keys and a
// client for each key. It also has a clock that can be set, and a push service that speaks the real
// protocol over TLS. Test files share none of it.
import { createECDH, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { type Sql, type Tx, transaction } from '@carillon/postgres';
import { createTestDatabase, type TestDatabase } from '../../packages/postgres/test/database.ts';
import { certificateFile } from '../../rig/src/certificate.ts';
import { whenDone } from '../../rig/src/when-done.ts';
import { type Config, loadConfig } from '../src/config.ts';
import type { SettableClock } from '../src/ground/database/clock.ts';
import { createLog } from '../src/ground/host/log.ts';
import { LogLines } from '../src/ground/host/log-lines.ts';
import { noExceptions } from '../src/ground/outbound/address-guard.ts';
import { createSeal } from '../src/ground/secrets/seal.ts';
import { encodeId, mintUuid, type Uuid } from '../src/ground/values/ids.ts';
import { createService, type Service, type ServiceOptions } from '../src/operation/process/service.ts';
import { startWorkers, type Workers } from '../src/operation/process/workers.ts';
import { insertAudienceRows } from '../src/people/audience/insert-many.ts';
import { copyProfile } from '../src/people/audience/profile-copy.ts';
import { insertDevices, insertTokens } from '../src/people/devices/insert-many.ts';
import { parseToken } from '../src/people/devices/token.ts';
import { generateVapidKeys } from '../src/sending/channels/webpush/vapid.ts';
import type { ClaimedBatch } from '../src/sending/delivery/batch.ts';
import { createRecorder } from '../src/sending/delivery/record-outcomes.ts';
import { listTargets } from '../src/sending/delivery/targets.ts';
import { createApp } from '../src/teams/apps/create-app.ts';
import { saveCredential } from '../src/teams/apps/credentials.ts';
import type { Actor } from '../src/teams/audit/actor.ts';
import { builtInPlans } from '../src/teams/quotas/plan.ts';
import { startPushService, type TestPushService } from './push-service.ts';
import { tester } from './tester.ts';

export interface TestApp {
  readonly id: Uuid;
  readonly serverKey: string;
  readonly clientKey: string;
  readonly vapidPublicKey: string;
  readonly vapidPrivateKey: string;
}

export interface Response {
  readonly status: number;
  readonly headers: Headers;
  /** Any JSON: the test's assertions check it, and not a second copy of the contract in types. */
  readonly body: ReturnType<typeof JSON.parse>;
}

export interface RequestOptions {
  readonly key?: string | null;
  readonly body?: unknown;
  /** Sent unchanged in place of `body`. */
  readonly raw?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Record<string, string>;
}

export interface Client {
  get(path: string): Promise<Response>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  put(path: string, body: unknown): Promise<Response>;
  delete(path: string): Promise<Response>;
}

export interface Bundle {
  readonly url: string;
  readonly sql: Sql;
  readonly databaseUrl: string;
  readonly clock: SettableClock;
  /** The actor of the test's changes. */
  readonly by: Actor;
  readonly config: Config;
  readonly service: Service;
  readonly workers: Workers;
  /** The key that signs the receipt tokens inside pushes. */
  readonly receiptKey: Buffer;
  /** The key that seals secrets. */
  readonly masterKey: Buffer;
  /** The environment for another process of the same service. */
  readonly environment: Readonly<Record<string, string>>;
  readonly app: TestApp;
  /** Clients that use the keys of `app`. */
  readonly server: Client;
  readonly client: Client;
  /** The push service that `pushSubscription` names. */
  readonly push: TestPushService;
  request(method: string, path: string, options?: RequestOptions): Promise<Response>;
  newApp(options?: { name?: string; plan?: string; channels?: boolean }): Promise<TestApp>;
  clientOf(key: string): Client;
  /** Makes a credential the current one of its channel. */
  setCredential(
    credential: { channel: string; public: Record<string, unknown>; secret: string },
    app?: TestApp,
  ): Promise<number>;
  /**
   * A valid web push subscription with new keys, as a browser would give it. `token` names it at
   * the push service.
   */
  pushSubscription(token?: string): { endpoint: string; keys: { p256dh: string; auth: string } };
  /** Ends the service before the test or its file is done. */
  close(): Promise<void>;
  /** Resolves when the collected outcomes have been applied to devices and credentials. */
  judged(): Promise<void>;
  /** Starts another set of loops, as another process would run them. */
  startWorkers(): Workers;
  /** Records devices of a claimed batch as sent, as a flush does. */
  recordSent(batch: ClaimedBatch, deviceIds: readonly Uuid[]): Promise<void>;
  /** Registers web devices in bulk. */
  registerMany(count: number, app?: TestApp): Promise<void>;
  /** Registers a web device and returns its id. */
  registerDevice(fields?: Record<string, unknown>, app?: TestApp): Promise<string>;
}

export interface SetupOptions {
  readonly environment?: Record<string, string>;
  /** Without workers only the accepting process sends. Default true. */
  readonly workers?: boolean;
  /** Receives the log's lines, at the level of LOG_LEVEL. */
  readonly logTo?: { write(line: string): void };
  /** Overrides the HTTP server's deadlines and limits. */
  readonly http?: ServiceOptions['http'];
  readonly databaseLimits?: ServiceOptions['databaseLimits'];
  /** The clocks of the host, for tests that set them (`rig/src/settable-clocks.ts`). */
  readonly hostClock?: ServiceOptions['hostClock'];
  /** An existing database, instead of a new one. */
  readonly database?: TestDatabase;
  /** The key of what an existing database keeps secret. */
  readonly masterKey?: Buffer;
  /** Maps the database's URL to the one that the service uses, for a proxy between them. */
  readonly reachDatabase?: (url: string) => Promise<string>;
}

/**
 * The host name in the test's certificate and endpoints. Its connections are redirected to the push
 * service.
 */
const pushHost = 'push.test.example';
const usualMasterKey = randomBytes(32);

/** Shows the log of the tests on standard error. */
const testLogLevel = process.env['TEST_LOG_LEVEL'];

/**
 * R-101 every test whose log nobody reads runs with a log that cannot be written: nothing may
 * depend on it.
 */
const fullDisk = (): LogLines =>
  new LogLines(() => {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  });

const endsWithinMs = 45_000;

async function endsInTime(what: string, ending: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not end within ${endsWithinMs} ms`)), endsWithinMs);
  });
  await Promise.race([ending, late]).finally(() => clearTimeout(timer));
}

export async function setup(options: SetupOptions = {}): Promise<Bundle> {
  const { masterKey = usualMasterKey } = options;
  const database = options.database ?? (await createTestDatabase());
  const push = await startPushService();
  const environment = {
    PUSH_HOSTS: pushHost,
    OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
    OUTBOUND_RESOLVE: `${pushHost}:443=127.0.0.1:${push.port}`,
    OUTBOUND_CA_FILE: certificateFile,
    DEFAULT_PLAN: 'unlimited',
    // The server of the tests runs without fsync.
    ALLOW_UNSAFE_POSTGRES: '1',
    PUBLIC_URL: 'https://carillon.test.example',
    ...options.environment,
  };
  const config: Config = loadConfig(
    { PORT: '0', LOG_LEVEL: testLogLevel ?? 'info', ...environment },
    fileURLToPath(new URL('.', import.meta.url)),
  );
  const seal = createSeal(masterKey);
  const service = await createService({
    config,
    databaseUrl: (await options.reachDatabase?.(database.url)) ?? database.url,
    masterKeys: { key: masterKey, previous: undefined },
    passwordCost: 4,
    log: createLog(config.logLevel, 'test', options.logTo ?? (testLogLevel === undefined ? fullDisk() : undefined)),
    ...(options.http && { http: options.http }),
    ...(options.hostClock && { hostClock: options.hostClock }),
    // The machine is busy with other tests, and a statement that waits for a connection must not be
    // refused because of that.
    databaseLimits: { waitMs: 10_000, ...options.databaseLimits },
  });
  const url = await service.server.listen({ host: '127.0.0.1', port: 0 });
  const workers = options.workers === false ? idleWorkers : service.startWorkers();
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= (async () => {
      // Named one by one, so that an end that hangs says where.
      await endsInTime('the drain of the service', service.drain());
      await endsInTime('the close of its server', service.server.close());
      await endsInTime('the close of its connections', service.close());
      await endsInTime('the close of the push service', push.close());
    })();
    return closing;
  };
  whenDone(close);

  const request = async (method: string, path: string, given: RequestOptions = {}): Promise<Response> => {
    const headers: Record<string, string> = { ...given.headers };
    if (given.key) headers['authorization'] = `Bearer ${given.key}`;
    let body = given.raw;
    if (given.body !== undefined) {
      body = JSON.stringify(given.body);
      headers['content-type'] ??= 'application/json';
    }
    const response = await fetch(url + path, {
      method,
      headers,
      redirect: 'manual',
      ...(body !== undefined && { body }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== '';
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };
  const clientOf = (key: string): Client => ({
    get: (path) => request('GET', path, { key }),
    post: (path, body, headers) => request('POST', path, { key, body, ...(headers && { headers }) }),
    put: (path, body) => request('PUT', path, { key, body }),
    delete: (path) => request('DELETE', path, { key }),
  });
  const newApp: Bundle['newApp'] = async ({ name = 'Shop', plan = config.defaultPlan, channels = true } = {}) => {
    const deps = { sql: database.sql, clock: service.clock, by: tester, seal };
    const made = await createApp(deps, { name, plan });
    const vapid = generateVapidKeys();
    if (channels) {
      await saveCredential(deps, {
        appId: made.id,
        channel: 'webpush',
        public: { publicKey: vapid.publicKey, subject: 'mailto:ops@shop.example' },
        secret: vapid.privateKey,
      });
    }
    return { ...made, vapidPublicKey: vapid.publicKey, vapidPrivateKey: vapid.privateKey };
  };
  const app = await newApp();
  const pushSubscription: Bundle['pushSubscription'] = (token = randomBytes(12).toString('base64url')) => {
    const browser = createECDH('prime256v1');
    return {
      endpoint: `https://${pushHost}/push/${token}`,
      keys: { p256dh: browser.generateKeys('base64url'), auth: randomBytes(16).toString('base64url') },
    };
  };

  const bundle: Bundle = {
    url,
    sql: database.sql,
    databaseUrl: database.url,
    clock: service.clock,
    by: tester,
    config,
    service,
    workers,
    receiptKey: service.run.receiptKeys.signing,
    masterKey,
    environment: { ...environment, DATABASE_URL: database.url, MASTER_KEY: masterKey.toString('base64') },
    app,
    push,
    close,
    request,
    newApp,
    clientOf,
    setCredential: (credential, ofApp = app) =>
      saveCredential({ sql: database.sql, clock: service.clock, by: tester, seal }, { ...credential, appId: ofApp.id }),
    server: clientOf(app.serverKey),
    client: clientOf(app.clientKey),
    pushSubscription,
    judged: () => service.run.verdicts.settle(),
    startWorkers() {
      const { retentionDays, eventRetentionDays } = config;
      const { run, clock, localInstants } = service;
      const pools = { sql: database.sql, indexSql: database.sql, detachSql: database.sql, txSql: database.sql };
      const rules = { plans: builtInPlans, localInstants, retentionDays, eventRetentionDays };
      const started = startWorkers({
        run,
        lookout: service.lookout,
        teller: run.teller,
        ...pools,
        clock,
        log: run.log,
        ...rules,
        webhooks: service.webhooks,
      });
      whenDone(() => started.stop());
      return started;
    },
    async recordSent(batch, deviceIds) {
      const { run } = service;
      const lease = run.leases.hold(batch, service.clock.steadyMs());
      const recorder = createRecorder(run, batch, lease);
      for (const target of await listTargets(run.sql, batch.appId, deviceIds, [])) {
        const provider = {
          name: 'webpush',
          httpStatus: 201,
          headers: {},
          body: null,
          truncated: false,
          transportError: null,
        } as const;
        await recorder.add(target, 'webpush', [], {
          kind: 'attempted',
          outcome: { kind: 'sent', providerMessageId: null, provider, latencyMs: 1 },
          atMs: service.clock.nowMs(),
          retryAtMs: null,
          credentialId: 1,
          urls: null,
        });
      }
      await recorder.close();
      lease.end();
    },
    async registerMany(count, ofApp = app) {
      const rules = { pushHosts: [pushHost], exceptions: noExceptions, ownHosts: [] };
      const now = service.clock.date();
      const devices = Array.from({ length: count }, () => {
        const parsed = parseToken('web', JSON.stringify(pushSubscription()), rules);
        if (!('token' in parsed)) throw new Error('a test subscription is not valid');
        const id = mintUuid(service.clock.nowMs());
        const common = { platform: 'web' as const, credentialId: 1, properties: {}, createdAt: now, registeredAt: now };
        return { ...common, id, token: parsed.token, identifiedAt: null };
      });
      const noFacts = {
        locale: null,
        timezone: null,
        appVersion: null,
        sdk: null,
        os: null,
        osVersion: null,
        model: null,
      };
      const copy = copyProfile(null, {}, []);
      await transaction(database.sql, async (tx: Tx) => {
        await insertTokens(tx, ofApp.id, devices);
        await insertDevices(tx, ofApp.id, devices);
        const rows = devices.map(({ id, platform }) => ({
          deviceId: id,
          platform,
          facts: noFacts,
          copy,
          createdAt: now,
          lastSeenAt: now,
        }));
        await insertAudienceRows(tx, ofApp.id, rows);
      });
    },
    async registerDevice(fields = {}, ofApp = app) {
      const body = { platform: 'web', token: JSON.stringify(pushSubscription()), ...fields };
      const response = await request('POST', '/v1/devices', { key: ofApp.serverKey, body });
      if (response.status !== 200) throw new Error(`device not registered: ${JSON.stringify(response.body)}`);
      return response.body.id;
    },
  };
  return bundle;
}

const idleTask = { what: 'nothing', everyMs: 1, run: async () => undefined };
const idleWorkers: Workers = {
  upkeep: { runOnce: async () => false, task: idleTask, dropping: idleTask },
  wake: () => undefined,
  wakeWebhooks: () => undefined,
  lastLookedAt: 0,
  idle: async () => undefined,
  stop: async () => undefined,
};

/** A well-formed id that was never given to anything. */
export function unknownId(prefix: 'msg' | 'dev' | 'usr' | 'seg' | 'app' | 'key' | 'tok' | 'whk'): string {
  return encodeId(prefix, '0192f3a4-7b6c-4d5e-8f90-1a2b3c4d5e6f');
}
