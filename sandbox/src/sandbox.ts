// Puts the parts together: one port that plays push providers, one on loopback that shows and steers them. What this
// module hands out is all that a test or another program needs of the sandbox.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyFault } from './apply-fault.ts';
import { DEFAULT_NAMES, loadOrMakeCertificate } from './certificate.ts';
import { type Control, listenForControl } from './control.ts';
import type { Exchange } from './exchange.ts';
import { parseFaultRule } from './fault-json.ts';
import { Faults } from './faults.ts';
import { Inbox, type InboxEntry } from './inbox.ts';
import { loadPools, parseSubscribe, savePools } from './pool-json.ts';
import type { Provider, PushRequest, Reception, Target } from './provider.ts';
import { PushLog } from './push-log.ts';
import { listenForPushes, type PushServer } from './push-server.ts';
import { type ReceiptEvent, ReceiptSender } from './receipts.ts';
import { type PushSubscriptionJson, Subscriptions } from './subscriptions.ts';
import { WebPushService } from './webpush.ts';

export interface SandboxOptions {
  /** Address of both ports. Default 127.0.0.1. */
  readonly host?: string;
  /** Inbox and control, plain HTTP. Default 0: any free port. */
  readonly port?: number;
  /** The providers, TLS. Default 0: any free port. */
  readonly pushPort?: number;
  /** Host name in the endpoints of subscriptions. Default localhost; it must be among `names`. */
  readonly endpointHost?: string;
  /** Keeps certificate and pools over a restart. Without it they live in a temporary directory until `close`. */
  readonly dataDir?: string;
  /** Names and addresses in the certificate. */
  readonly names?: readonly string[];
  /** Where receipts go: the address of a Carillon. Without it none are sent. */
  readonly receiptsUrl?: string;
  /** `blind`: every POST is answered 201 unread, for benchmarks. Default `strict`. */
  readonly accept?: 'strict' | 'blind';
  /** Requests kept in full. Default 1,000. */
  readonly logEntriesMax?: number;
  /** Keeps one line for every request, without bound. Default false. */
  readonly keepHistory?: boolean;
  /** Streams a client may have open on one HTTP/2 connection. Default 100. */
  readonly streamsMax?: number;
  /** What ALPN offers. Default both. */
  readonly protocols?: readonly ('h2' | 'http/1.1')[];
  /** Milliseconds since the epoch; the expiry of VAPID tokens is judged by it. */
  readonly now?: () => number;
}

/** A running sandbox. JSON that it takes has the shapes of the control API. */
export interface Sandbox {
  readonly controlUrl: string;
  readonly pushOrigin: string;
  readonly pushPort: number;
  /** PEM, and the file it is in: what a client has to trust. */
  readonly certificate: string;
  readonly certificateFile: string;
  /** The variables by which Carillon reaches this sandbox. */
  readonly environment: Readonly<Record<string, string>>;
  readonly log: PushLog;
  readonly faults: Faults;
  /** New browsers: `{count, vendor, vapid_key, seed, …}`, as `POST /subscriptions` takes it. */
  subscribe(request?: object): PushSubscriptionJson[];
  /** From now on the endpoint is gone. False when it is none of this sandbox. */
  unsubscribe(token: string): boolean;
  /** Adds a rule, as an item of `PUT /faults`. Returns its id. */
  addFault(rule: object): string;
  /** A person clicks or dismisses; resolves when the receipt was answered. */
  act(id: number, event: ReceiptEvent, action?: string): Promise<InboxEntry | undefined>;
  /** Connections to the providers open now. */
  connections(): number;
  dropConnections(): void;
  close(): Promise<void>;
}

/** Starts a sandbox and resolves when both ports listen. Rejects when a port is taken or the directory unwritable. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const host = options.host ?? '127.0.0.1';
  const directory = options.dataDir ?? mkdtempSync(join(tmpdir(), 'push-sandbox-'));
  const removeDirectory = (): void => {
    if (options.dataDir === undefined) rmSync(directory, { recursive: true, force: true });
  };
  const now = options.now ?? Date.now;
  const endpointHost = options.endpointHost ?? 'localhost';
  const names = options.names ?? [...new Set([...DEFAULT_NAMES, endpointHost])];
  const log = new PushLog(options.logEntriesMax ?? 1000, options.keepHistory ?? false);
  const faults = new Faults();
  const receipts = options.receiptsUrl === undefined ? null : new ReceiptSender(options.receiptsUrl);
  const inbox = new Inbox(log, options.logEntriesMax ?? 1000, receipts);
  let pushes: PushServer | undefined;
  let control: Control | undefined;
  const close = async (): Promise<void> => {
    await Promise.all([pushes?.close(), control?.close()]);
    receipts?.close();
    removeDirectory();
  };

  try {
    const certificate = loadOrMakeCertificate(directory, names, new Date());
    // Providers need the origin of their endpoints, which may hang on the port that the system chooses.
    const providers: Provider[] = [];
    const handle = requestHandler(providers, faults, log, options.accept === 'blind');
    pushes = await listenForPushes({
      host,
      port: options.pushPort ?? 0,
      certificatePem: certificate.certificatePem,
      keyPem: certificate.keyPem,
      streamsMax: options.streamsMax ?? 100,
      protocols: options.protocols ?? ['h2', 'http/1.1'],
      onConnection: (protocol) => log.countConnection(protocol),
      ...handle,
    });
    const pushPort = pushes.port;
    const pushOrigin = new URL(`https://${endpointHost}:${pushPort}`).origin;
    const subscriptions = new Subscriptions(pushOrigin, loadPools(directory), (pools) => savePools(directory, pools));
    providers.push(new WebPushService(subscriptions, now));

    const environment = {
      PUSH_HOSTS: endpointHost,
      OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
      OUTBOUND_ALLOW_PORTS: String(pushPort),
      OUTBOUND_CA_FILE: certificate.file,
    };
    control = await listenForControl({
      host,
      port: options.port ?? 0,
      names: [host, endpointHost],
      log,
      faults,
      inbox,
      subscriptions,
      about: {
        pushOrigin,
        pushPort,
        certificateFile: certificate.file,
        environment,
        receiptsUrl: receipts?.base ?? null,
        accept: options.accept ?? 'strict',
      },
    });
    const server = pushes;
    return {
      controlUrl: control.url,
      pushOrigin,
      pushPort,
      certificate: certificate.certificatePem,
      certificateFile: certificate.file,
      environment,
      log,
      faults,
      subscribe: (request = {}) => {
        const { pool, count, from } = parseSubscribe(request);
        return [...subscriptions.subscribe(pool, count, from)];
      },
      unsubscribe: (token) => subscriptions.unsubscribe(token),
      addFault: (value) => {
        const rule = parseFaultRule(value, '');
        faults.add(rule);
        return rule.id;
      },
      act: (id, event, action) => inbox.act(id, event, action ?? null),
      connections: () => server.connections(),
      dropConnections: () => server.dropConnections(),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What is done with each request, and the short cut past it all for benchmarks. */
function requestHandler(providers: readonly Provider[], faults: Faults, log: PushLog, isBlind: boolean) {
  const providerFor = (authority: string, path: string): Provider | undefined =>
    providers.find((provider) => provider.claims(authority, path));
  let blindId = 0;
  return {
    onRequest: (request: PushRequest, exchange: Exchange): void => {
      const provider = providerFor(request.authority, request.path);
      if (provider === undefined) {
        exchange.close(null);
        return;
      }
      const target = provider.target(request.authority, request.path);
      const reception = isBlind ? blindReception(target, ++blindId) : provider.receive(request);
      const rule = faults.isEmpty ? undefined : faults.next(target);
      if (rule === undefined) {
        exchange.respond(reception.answer);
        log.add(reception, request, reception.answer, null);
        return;
      }
      const { answer, delivers } = applyFault(rule.action, exchange, reception, (status) =>
        provider.refuseWithStatus(target, status),
      );
      log.add({ ...reception, isDelivered: reception.isDelivered && delivers }, request, answer, rule.id);
    },
    ...(isBlind
      ? {
          answerBlindly: (authority: string, path: string, topic: string) => {
            if (!faults.isEmpty) return null;
            blindId += 1;
            log.count(null, 201, false);
            log.remember(
              path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('=')) + 1),
              Date.now(),
              201,
              topic,
            );
            return { location: `https://${authority}/message/${blindId}` };
          },
        }
      : {}),
  };
}

/** What blind acceptance says of a request that nobody read. */
function blindReception(target: Target, id: number): Reception {
  return {
    ...target,
    endpoint: null,
    checks: [],
    vapid: null,
    payload: null,
    notification: null,
    answer: { status: 201, headers: { location: `/message/${id}` }, body: '' },
    isDelivered: false,
  };
}
