// A stand-in for the service, over real HTTP: it registers devices, recognises them, and accepts
// events once. Answers can be scripted per path; every request is recorded.
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Two valid keys of the right length, to test a change of the key. */
export const vapidKeys = [`B${'A'.repeat(86)}`, `B${'Q'.repeat(86)}`] as const;

export interface Heard {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown> | null;
}

export interface Scripted {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The answer is held back until this promise settles. */
  readonly after?: Promise<unknown>;
}

interface State {
  vapidKey: string | null;
  /** Endpoint by device id. */
  readonly devices: Map<string, string>;
  /** The proof for a refresh, by device id: the whole subscription as text. */
  readonly tokens: Map<string, string>;
  readonly events: Map<string, Record<string, unknown>>;
}

export async function startApi() {
  const heard: Heard[] = [];
  const scripted = new Map<string, Scripted[]>();
  /** Called with every body sent to the events' path. */
  const guard = { refuseBody: (_text: string): Scripted | null => null };
  const state: State = { vapidKey: vapidKeys[0], devices: new Map(), tokens: new Map(), events: new Map() };

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const path = request.url ?? '';
    const body = text ? (JSON.parse(text) as Record<string, unknown>) : null;
    heard.push({ method: request.method ?? '', path, headers: request.headers, body });
    const refused = path === '/v1/events' ? guard.refuseBody(text) : null;
    const next = refused ?? scripted.get(path)?.shift() ?? answerOf(state, request.method ?? '', path, body);
    await next.after;
    response.writeHead(next.status, { 'content-type': 'application/json', 'x-request-id': 'req_1', ...next.headers });
    response.end(typeof next.body === 'string' ? next.body : JSON.stringify(next.body ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    state,
    heard,
    set refuseBody(refuse: (text: string) => Scripted | null) {
      guard.refuseBody = refuse;
    },
    /** The requests on one path. */
    heardOn: (path: string): Heard[] => heard.filter((request) => request.path === path),
    /**
     * The next requests on this path get these answers, one each; later requests get the usual one.
     */
    script(path: string, ...answers: Scripted[]): void {
      scripted.set(path, [...(scripted.get(path) ?? []), ...answers]);
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export type Api = Awaited<ReturnType<typeof startApi>>;

export function refusal(status: number, error: string, more: Record<string, unknown> = {}): Scripted {
  return { status, body: { error, message: `Because of ${error}.`, request_id: 'req_body', ...more } };
}

function answerOf(state: State, method: string, path: string, body: Record<string, unknown> | null): Scripted {
  const known = state.devices.has(String(body?.['device_id']));
  switch (`${method} ${path}`) {
    case 'GET /v1/config':
      return {
        status: 200,
        body: {
          vapid_public_key: state.vapidKey,
          identify_required: false,
          identify_form: null,
          identify_device_required: false,
          channels: [],
        },
      };
    case 'POST /v1/devices': {
      if (body?.['device_id'] && !known) return refusal(404, 'not_found');
      const token = String(body?.['token']);
      const { endpoint } = JSON.parse(token) as { endpoint: string };
      const holder = [...state.devices].find(([, held]) => held === endpoint)?.[0];
      // A client key may refresh a device only with the token that the device has. Otherwise the
      // request makes a new device.
      const named = String(body?.['device_id']);
      const isProven = known && [body?.['previous_token'], token].includes(state.tokens.get(named) ?? token);
      const id = isProven ? named : (holder ?? `dev_${state.devices.size + 1}`);
      state.devices.set(id, endpoint);
      state.tokens.set(id, token);
      return { status: 200, body: { id } };
    }
    case 'POST /v1/identify':
      return known ? { status: 200, body: {} } : refusal(404, 'not_found');
    case 'POST /v1/events': {
      const events = body?.['events'] as Record<string, unknown>[];
      if (events.some((event) => !state.devices.has(String(event['device_id'])))) return refusal(404, 'not_found');
      for (const event of events) state.events.set(`${event['device_id']} ${event['id']}`, event);
      return { status: 200, body: { accepted: events.length, duplicates: 0 } };
    }
    case 'POST /v1/receipts':
      return { status: 200, body: { recorded: true } };
    default:
      if (method !== 'DELETE') return refusal(404, 'not_found');
      return state.devices.delete(path.slice('/v1/devices/'.length))
        ? { status: 200, body: { status: 'unsubscribed' } }
        : refusal(404, 'not_found');
  }
}
