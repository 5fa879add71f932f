// Puts the parts together: ports that play push providers, and a loopback port that shows and
// controls them. This module exports everything that a test or another program needs of the
// sandbox.
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, rmSync, type WriteStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApnsService } from './apns.ts';
import { defaultNames, loadOrMakeCertificate } from './certificate.ts';
import { type Control, listenForControl, type PhoneUrls } from './control.ts';
import { parseFaultRule } from './fault-json.ts';
import { Faults } from './faults.ts';
import { FcmService } from './fcm.ts';
import { blindWire, requestHandler } from './handle-request.ts';
import { Inbox, type InboxEntry } from './inbox.ts';
import { PhoneNetwork } from './phone-network.ts';
import { loadPools, parseSubscribe, savePools } from './pool-json.ts';
import type { Provider } from './provider.ts';
import { PushLog } from './push-log.ts';
import { listenForPushes, type PushServer, type PushServerOptions } from './push-server.ts';
import { type ReceiptEvent, ReceiptSender } from './receipts.ts';
import { type PushSubscriptionJson, Subscriptions } from './subscriptions.ts';
import { WebPushService } from './webpush.ts';

export interface SandboxOptions {
  /** Address that all ports bind to. Default 127.0.0.1. */
  readonly host?: string;
  /** Port of inbox and control, plain HTTP. Default 0: any free port. */
  readonly port?: number;
  /** Port of the browsers' push services, TLS. Default 0: any free port. */
  readonly pushPort?: number;
  /** Ports of APNs (production and development) and FCM, TLS. Default 0: any free port. */
  readonly apnsPort?: number;
  readonly apnsSandboxPort?: number;
  readonly fcmPort?: number;
  /** Host name in the endpoints of subscriptions. Default localhost; it must be among `names`. */
  readonly endpointHost?: string;
  /**
   * Keeps the certificate and the pools over a restart. Without it they live in a temporary
   * directory until `close`.
   */
  readonly dataDir?: string;
  /** Names and addresses in the certificate. */
  readonly names?: readonly string[];
  /** The address of a Carillon that gets receipts. Without it none are sent. */
  readonly receiptsUrl?: string;
  /** `blind`: every POST is answered with 201 unread, for benchmarks. Default `strict`. */
  readonly accept?: 'strict' | 'blind';
  /** Requests that are kept in full. Default 1,000. */
  readonly logEntriesMax?: number;
  /** Keeps one line for every request in memory, without bound. Default false. */
  readonly keepHistory?: boolean;
  /** Appends the same lines to this file instead of memory. Its directory must exist. */
  readonly historyFile?: string;
  /** Streams that a client may have open on one HTTP/2 connection. Default 100. */
  readonly streamsMax?: number;
  /** The protocols that ALPN offers. Default both. */
  readonly protocols?: readonly ('h2' | 'http/1.1')[];
  /** Returns milliseconds since the epoch; the expiry of VAPID tokens is judged by it. */
  readonly now?: () => number;
}

/** A running sandbox. Its JSON has the shapes of the control API. */
export interface Sandbox {
  readonly controlUrl: string;
  readonly pushOrigin: string;
  readonly pushPort: number;
  readonly phoneUrls: PhoneUrls;
  /** The certificate in PEM, and its file; clients must trust it. */
  readonly certificate: string;
  readonly certificateFile: string;
  /** The environment variables by which Carillon reaches this sandbox. */
  readonly environment: Readonly<Record<string, string>>;
  readonly log: PushLog;
  readonly faults: Faults;
  /** Makes browsers: `{count, vendor, vapid_key, seed, …}`, as `POST /subscriptions` takes it. */
  subscribe(request?: object): PushSubscriptionJson[];
  /** Makes an endpoint gone from now on. Returns false for an unknown token. */
  unsubscribe(token: string): boolean;
  /**
   * Makes phones and returns their tokens: `{platform, count, bundle_id, project_id, …}`, as `POST
   * /devices` takes it.
   */
  install(request: object): string[];
  /** Removes the app from the phone from now on. Returns false for an unknown token. */
  uninstall(token: string): boolean;
  /**
   * Registers a key for APNs, as `POST /apns/keys` does. `p8` is set when the sandbox made the key.
   */
  registerTeamKey(request?: object): { teamId: string; keyId: string; p8: string | null };
  /** Makes a service account and returns its JSON file, as `POST /fcm/service-accounts` does. */
  createServiceAccount(request?: object): Record<string, string>;
  /** Adds a rule, which is an item of `PUT /faults`. Returns its id. */
  addFault(rule: object): string;
  /** Clicks or dismisses as the person. Resolves when the receipt was answered. */
  act(id: number, event: ReceiptEvent, action?: string): Promise<InboxEntry | undefined>;
  /** Open connections to the providers. */
  connections(): number;
  dropConnections(): void;
  close(): Promise<void>;
}

/** FCM's GOAWAY to a connection with more than a hundred streams, as senders have quoted it. */
const fcmStreamsCap = { streams: 100, debug: 'exceeded_max_concurrent_streams' };

/**
 * Starts a sandbox and resolves when all its ports listen. Rejects when a port is taken or the
 * directory is not writable.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const host = options.host ?? '127.0.0.1';
  const directory = options.dataDir ?? mkdtempSync(join(tmpdir(), 'push-sandbox-'));
  const removeDirectory = (): void => {
    if (options.dataDir === undefined) rmSync(directory, { recursive: true, force: true });
  };
  const now = options.now ?? Date.now;
  const endpointHost = options.endpointHost ?? 'localhost';
  const names = options.names ?? [...new Set([...defaultNames, endpointHost])];
  const historyFile = options.historyFile === undefined ? null : await openHistory(options.historyFile);
  const log = new PushLog(options.logEntriesMax ?? 1000, options.keepHistory ?? false, historyFile);
  const faults = new Faults();
  const receipts = options.receiptsUrl === undefined ? null : new ReceiptSender(options.receiptsUrl);
  const inbox = new Inbox(log, options.logEntriesMax ?? 1000, receipts);
  const servers: PushServer[] = [];
  let control: Control | undefined;
  const close = async (): Promise<void> => {
    await Promise.all([...servers.map((server) => server.close()), control?.close()]);
    receipts?.close();
    if (historyFile !== null) await new Promise<void>((resolve) => historyFile.end(resolve));
    removeDirectory();
  };

  try {
    const certificate = loadOrMakeCertificate(directory, names, new Date());
    const isBlind = options.accept === 'blind';
    let connectionId = 0;
    /** Listens for one provider. The provider may be made after its port is known. */
    const serve = async (port: number, wire: Wire, makeProvider: (origin: string) => Provider): Promise<string> => {
      let provider: Provider | undefined;
      const server = await listenForPushes({
        host,
        port,
        certificatePem: certificate.certificatePem,
        keyPem: certificate.keyPem,
        ...wire,
        nextConnectionId: () => {
          connectionId += 1;
          return connectionId;
        },
        onConnection: (protocol) => log.countConnection(protocol),
        onConnectionEnd: (id) => {
          provider?.connectionEnded?.(id);
          faults.connectionEnded(id);
        },
        onStreamsExceeded: () => log.countStreamsExceeded(),
        onRequest: requestHandler(() => provider, faults, log, isBlind),
      });
      servers.push(server);
      const origin = new URL(`https://${endpointHost}:${server.port}`).origin;
      provider = makeProvider(origin);
      return origin;
    };
    const both = options.protocols ?? ['h2', 'http/1.1'];
    let subscriptions: Subscriptions | undefined;
    const pushOrigin = await serve(
      options.pushPort ?? 0,
      { streamsMax: options.streamsMax ?? 100, protocols: both, ...(isBlind ? blindWire(faults, log) : {}) },
      (origin) => {
        subscriptions = new Subscriptions(origin, loadPools(directory), (pools) => savePools(directory, pools));
        return new WebPushService(subscriptions, now);
      },
    );
    let fcmToken = '';
    const network = new PhoneNetwork(directory, () => fcmToken, now);
    const { phones, keys } = network;
    // Apple lets a connection open one stream until it has shown a token.
    const apnsWire: Wire = { streamsMax: isBlind ? 1000 : 1, protocols: ['h2'] };
    const apns = await serve(options.apnsPort ?? 0, apnsWire, () => new ApnsService('production', phones, keys, now));
    const apnsSandbox = await serve(
      options.apnsSandboxPort ?? 0,
      apnsWire,
      () => new ApnsService('sandbox', phones, keys, now),
    );
    const fcm = await serve(
      options.fcmPort ?? 0,
      { streamsMax: null, streamsCap: fcmStreamsCap, protocols: both, isSchemeLoose: true },
      () => new FcmService(phones, keys, () => fcmToken, now),
    );
    fcmToken = `${fcm}/token`;
    const phoneUrls = { apns, apnsSandbox, fcm, fcmToken };
    if (subscriptions === undefined) throw new Error('the push services did not start');
    const browsers = subscriptions;

    const pushPort = Number(new URL(pushOrigin).port);
    const environment = {
      PUSH_HOSTS: endpointHost,
      APNS_URL: apns,
      APNS_SANDBOX_URL: apnsSandbox,
      FCM_URL: fcm,
      FCM_TOKEN_URL: fcmToken,
      OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
      OUTBOUND_ALLOW_PORTS: servers.map((server) => server.port).join(','),
      OUTBOUND_CA_FILE: certificate.file,
    };
    control = await listenForControl({
      host,
      port: options.port ?? 0,
      names: [host, endpointHost],
      log,
      faults,
      inbox,
      subscriptions: browsers,
      network,
      about: {
        pushOrigin,
        pushPort,
        phoneUrls,
        certificateFile: certificate.file,
        environment,
        receiptsUrl: receipts?.base ?? null,
        accept: options.accept ?? 'strict',
      },
    });
    return {
      controlUrl: control.url,
      pushOrigin,
      pushPort,
      phoneUrls,
      certificate: certificate.certificatePem,
      certificateFile: certificate.file,
      environment,
      log,
      faults,
      subscribe: (request = {}) => {
        const { pool, count, from } = parseSubscribe(request);
        return [...browsers.subscribe(pool, count, from)];
      },
      unsubscribe: (token) => browsers.unsubscribe(token),
      install: (request) => network.install(request),
      uninstall: (token) => network.uninstall(token),
      registerTeamKey: (request = {}) => {
        const { key, p8 } = network.registerTeamKey(request);
        return { teamId: key.teamId, keyId: key.keyId, p8 };
      },
      createServiceAccount: (request = {}) => network.createServiceAccount(request),
      addFault: (value) => {
        const rule = parseFaultRule(value, '');
        faults.add(rule);
        return rule.id;
      },
      act: (id, event, action) => inbox.act(id, event, action ?? null),
      connections: () => servers.reduce((sum, server) => sum + server.connections(), 0),
      dropConnections: () => {
        for (const server of servers) server.dropConnections();
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openHistory(path: string): Promise<WriteStream> {
  const stream = createWriteStream(path, { flags: 'a' });
  await once(stream, 'open');
  return stream;
}

/** The options that differ between the providers' ports. */
type Wire = Pick<PushServerOptions, 'streamsMax' | 'streamsCap' | 'protocols' | 'isSchemeLoose' | 'answerBlindly'>;
