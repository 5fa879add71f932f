// The control port: plain HTTP for the machine's owner, to make browsers, set faults, read the log
// and use the inbox. It answers only to names of this machine and to no page of another site.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import {
  type Call,
  documentItemsMax,
  isFromHere,
  type Route,
  readJson,
  sendError,
  sendJson,
  sendLines,
  sendNothing,
  wantsLines,
  wholeNumber,
} from './control-http.ts';
import { parseFaultRule, parseFaults, presentFaults } from './fault-json.ts';
import type { Faults } from './faults.ts';
import { Feed } from './feed.ts';
import type { Inbox } from './inbox.ts';
import { Fields, InputError } from './json-input.ts';
import { servePage } from './page.ts';
import { presentPhonePool } from './phone-json.ts';
import type { PhoneNetwork } from './phone-network.ts';
import { phoneRoutes } from './phone-routes.ts';
import type { PhonePoolOptions } from './phones.ts';
import { parseSubscribe, presentPool } from './pool-json.ts';
import { presentCounters, presentEntry, presentRecord } from './present.ts';
import type { PushLog } from './push-log.ts';
import type { PoolOptions, Subscriptions } from './subscriptions.ts';
import { writeLines } from './write-lines.ts';

/** The addresses of the providers of phones. */
export interface PhoneUrls {
  readonly apns: string;
  readonly apnsSandbox: string;
  readonly fcm: string;
  readonly fcmToken: string;
}

/** Facts about a running sandbox that never change. */
export interface About {
  readonly pushOrigin: string;
  readonly pushPort: number;
  /** The addresses that play APNs and FCM. */
  readonly phoneUrls: PhoneUrls;
  readonly certificateFile: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly receiptsUrl: string | null;
  readonly accept: 'strict' | 'blind';
}

export interface ControlOptions {
  readonly host: string;
  readonly port: number;
  /** Names of this machine that a request may use, besides addresses and localhost. */
  readonly names: readonly string[];
  readonly log: PushLog;
  readonly faults: Faults;
  readonly inbox: Inbox;
  readonly subscriptions: Subscriptions;
  readonly network: PhoneNetwork;
  readonly about: About;
}

export interface Control {
  readonly url: string;
  close(): Promise<void>;
}

export async function listenForControl(options: ControlOptions): Promise<Control> {
  const feed = new Feed(options.log, options.inbox, options.faults);
  const routes = makeRoutes(options, feed);
  // Longer than the pause of polling programs between two requests, because a request that arrives
  // while its connection closes is lost.
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    void answer(request, response, routes, options.names);
  });
  server.listen(options.port, options.host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const named = isIP(options.host) === 6 ? `[${options.host}]` : options.host;
  return {
    url: `http://${named}:${port}`,
    close: () =>
      new Promise((resolve) => {
        feed.close();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function makeRoutes(options: ControlOptions, feed: Feed): Route[] {
  const { log, faults, inbox, subscriptions, network } = options;
  const faultsChanged = (response: ServerResponse): void => {
    const document = { faults: presentFaults(faults.list()) };
    feed.tell('faults', document);
    sendJson(response, 200, document);
  };
  return [
    ...phoneRoutes(network),
    [
      'GET',
      /^\/addresses$/,
      ({ response }) =>
        sendJson(response, 200, presentAbout(options.about, subscriptions.pools(), network.phones.pools())),
    ],
    ['GET', /^\/counters$/, ({ response }) => sendJson(response, 200, presentCounters(log.counters()))],
    ['GET', /^\/events$/, ({ response }) => feed.add(response)],

    ['POST', /^\/subscriptions$/, (call) => postSubscriptions(call, subscriptions)],
    [
      'DELETE',
      /^\/subscriptions\/([A-Za-z0-9_-]+)$/,
      ({ response, part }) =>
        subscriptions.unsubscribe(part) ? sendNothing(response) : sendError(response, 404, 'no such subscription'),
    ],

    ['GET', /^\/faults$/, ({ response }) => sendJson(response, 200, { faults: presentFaults(faults.list()) })],
    [
      'PUT',
      /^\/faults$/,
      async ({ request, response }) => {
        faults.set(parseFaults(await readJson(request)));
        faultsChanged(response);
      },
    ],
    [
      'POST',
      /^\/faults$/,
      async ({ request, response, url }) => {
        const place = url.searchParams.get('place') === 'first' ? 'first' : 'last';
        faults.add(parseFaultRule(await readJson(request), ''), place);
        faultsChanged(response);
      },
    ],
    [
      'DELETE',
      /^\/faults(?:\/([^/]+))?$/,
      ({ response, part }) => {
        if (part === '') faults.set([]);
        else if (!faults.remove(decodeURIComponent(part))) return sendError(response, 404, 'no such fault');
        faultsChanged(response);
      },
    ],

    [
      'GET',
      /^\/log$/,
      ({ request, response, url }) => {
        const after = wholeNumber(url, 'after', 0);
        const limit = wholeNumber(url, 'limit', 1000);
        const later = log.requests.filter((record) => record.id > after);
        // With `after` the caller reads on and wants the next records. Without it the caller wants
        // the latest.
        const records = url.searchParams.has('after')
          ? later.slice(0, limit)
          : later.slice(Math.max(0, later.length - limit));
        if (wantsLines(request)) sendLines(response, records.map(presentRecord));
        else sendJson(response, 200, { records: records.map(presentRecord), last_id: records.at(-1)?.id ?? after });
      },
    ],
    ['GET', /^\/history$/, ({ response, url }) => sendLines(response, log.history.slice(wholeNumber(url, 'after', 0)))],
    [
      'DELETE',
      /^\/log$/,
      ({ response }) => {
        log.clear();
        sendNothing(response);
      },
    ],
    [
      'GET',
      /^\/inbox$/,
      ({ response, url }) => {
        const before = wholeNumber(url, 'before', Number.MAX_SAFE_INTEGER);
        const entries = inbox.list(wholeNumber(url, 'limit', 50), before);
        sendJson(response, 200, { counters: presentCounters(log.counters()), entries: entries.map(presentEntry) });
      },
    ],
    [
      'POST',
      /^\/inbox\/(\d+)\/act$/,
      async ({ request, response, part }) => {
        const fields = new Fields(await readJson(request), '');
        const event = fields.oneOf('event', ['displayed', 'clicked', 'dismissed'] as const);
        const action = fields.optional('action', (name) => fields.text(name));
        fields.end();
        const entry = await inbox.act(Number(part), event, action);
        if (entry === undefined) sendError(response, 404, 'no such notification');
        else sendJson(response, 200, presentEntry(entry));
      },
    ],
  ];
}

function presentAbout(about: About, pools: readonly PoolOptions[], phonePools: readonly PhonePoolOptions[]): unknown {
  return {
    push_origin: about.pushOrigin,
    push_port: about.pushPort,
    apns_url: about.phoneUrls.apns,
    apns_sandbox_url: about.phoneUrls.apnsSandbox,
    fcm_url: about.phoneUrls.fcm,
    fcm_token_url: about.phoneUrls.fcmToken,
    certificate_file: about.certificateFile,
    receipts_url: about.receiptsUrl,
    accept: about.accept,
    environment: about.environment,
    pools: pools.map(presentPool),
    phone_pools: phonePools.map(presentPhonePool),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  routes: readonly Route[],
  names: readonly string[],
): Promise<void> {
  response.on('error', () => {});
  try {
    const url = new URL(request.url ?? '/', 'http://control');
    if (!isFromHere(request, names)) return sendError(response, 403, 'the control port answers to this machine only');
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '');
    if (method === 'GET' && servePage(url.pathname, response)) return;
    const matches = routes.filter(([, pattern]) => pattern.test(url.pathname));
    const route = matches.find(([each]) => each === method);
    if (route === undefined) {
      const allowed = matches.map(([each]) => each).join(', ');
      return matches.length > 0
        ? sendError(response, 405, `use ${allowed}`, { allow: allowed })
        : sendError(response, 404, 'nothing is here');
    }
    const [, pattern, handler] = route;
    await handler({ request, response, url, part: pattern.exec(url.pathname)?.[1] ?? '' });
  } catch (error) {
    if (response.headersSent) response.destroy();
    else if (error instanceof InputError) sendError(response, 400, error.message);
    else sendError(response, 500, error instanceof Error ? error.message : 'unknown');
  }
}

async function postSubscriptions({ request, response }: Call, subscriptions: Subscriptions): Promise<void> {
  const { pool, count, from } = parseSubscribe(await readJson(request));
  const made = subscriptions.subscribe(pool, count, from);
  if (!wantsLines(request)) {
    if (count > documentItemsMax) {
      throw new InputError('count', `more than ${documentItemsMax} only as application/x-ndjson`);
    }
    return sendJson(response, 201, { pool: presentPool(pool), subscriptions: [...made] });
  }
  response.writeHead(201, { 'content-type': 'application/x-ndjson', 'sandbox-seed': encodeURIComponent(pool.seed) });
  await writeLines(response, made);
}
