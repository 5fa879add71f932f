// The client of the API: one object with a property for each kind of resource, and one method for
// each endpoint. It sends nothing until a method is called, and never shows its key, even when it
// is printed.
import { randomUUID } from 'node:crypto';
import { type CallOptions, call, type OperationName, type Service } from './call.ts';
import { pageLimit, type Query, type Request, type RequestOptions } from './endpoint.ts';
import { createMessages, type Messages } from './messages.ts';
import { walk } from './pages.ts';
import { createReports, type Reports } from './reports.ts';
import type {
  AppConfig,
  ChannelList,
  DeletedSegment,
  Device,
  DevicePage,
  DeviceRequest,
  ErasedUser,
  Explanation,
  IdentifiedDevice,
  IdentifyRequest,
  Operations,
  OptedOutDevice,
  Preview,
  PreviewRequest,
  Property,
  PropertyPage,
  RegisteredDevice,
  Segment,
  SegmentPage,
  SegmentRequest,
  Tracked,
  TrackedEvent,
  UpsertedUser,
  User,
  UserRequest,
} from './types.gen.ts';

export interface CarillonOptions {
  /** The service's address, such as `https://push.shop.example`. */
  readonly baseUrl: string | undefined;
  /** A server key, `sk_live_…`. It must stay on your server. */
  readonly apiKey: string | undefined;
  /**
   * Time limit of each try. A send waits up to 20 s for its outcomes before it answers. Default:
   * 60,000.
   */
  readonly timeoutMs?: number | undefined;
  /** Tries beyond the first, after failures that may pass. 0: none. Default: 3. */
  readonly maxRetries?: number | undefined;
  /**
   * The longest wait between two tries that the client accepts from the service. A longer one is
   * thrown as an error. Default: 30,000.
   */
  readonly maxRetryWaitMs?: number | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export class Carillon {
  readonly #service: Service;
  readonly messages: Messages;
  readonly users: Users;
  readonly devices: Devices;
  readonly segments: Segments;
  readonly properties: Properties;
  readonly events: Events;
  readonly reports: Reports;

  /** Throws a `TypeError` when the address or the key is missing. */
  constructor({ baseUrl, apiKey, timeoutMs, maxRetries, maxRetryWaitMs, fetch }: CarillonOptions) {
    if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey)) {
      throw new TypeError('Carillon needs a server key, sk_live_…: is its variable set?');
    }
    this.#service = {
      baseUrl: readBaseUrl(baseUrl),
      apiKey,
      timeoutMs: timeoutMs ?? 60_000,
      maxRetries: maxRetries ?? 3,
      maxWaitMs: maxRetryWaitMs ?? 30_000,
      userAgent: `carillon-node/${sdkVersion}`,
      // Looked up at each call, so that a test or a tracer can replace it later.
      fetch: fetch ?? ((...parameters) => globalThis.fetch(...parameters)),
    };
    const request: Request = (name, given, options) => this.request(name, given, options);
    this.messages = createMessages(request);
    this.users = createUsers(request);
    this.devices = createDevices(request);
    this.segments = createSegments(request);
    this.properties = createProperties(request);
    this.events = createEvents(request);
    this.reports = createReports(request);
  }

  /**
   * Calls any endpoint by its `operationId` in the OpenAPI description. All other methods use this
   * one.
   */
  request<Name extends OperationName>(
    name: Name,
    given: Operations[Name]['given'],
    options: CallOptions = {},
  ): Promise<Operations[Name]['answer']> {
    const isRepeatable = options.idempotencyKey !== undefined || isSameTwice(name, given);
    return call(this.#service, name, given, { ...options, isRepeatable });
  }

  /** The app's settings that a client needs before it registers a device. */
  config(options?: RequestOptions): Promise<AppConfig> {
    return this.request('getConfig', {}, options);
  }

  /**
   * Says why a person or a device got a message or not. Name exactly one of `external_id` and
   * `device_id`. Without `message_id`: the newest 20 messages of the last 30 days.
   */
  explain(query: Query<'explain'>, options?: RequestOptions): Promise<Explanation> {
    return this.request('explain', { query }, options);
  }

  /** The channels of the service and their state. */
  channels(options?: RequestOptions): Promise<ChannelList> {
    return this.request('listChannels', {}, options);
  }
}

/** Whether a call that is made twice has the same effect as one call. */
function isSameTwice(name: OperationName, given: object): boolean {
  // Without a key, a second send is a second message. A second segment fails because its name is
  // taken.
  if (name === 'sendMessage' || name === 'createSegment') return false;
  if (name !== 'trackEvents') return true;
  const { body } = given as Operations['trackEvents']['given'];
  const events = 'events' in body ? body.events : [body];
  return events.every(({ id }) => id !== undefined && id !== null);
}

// `URL.canParse` of Node 20, once it is compiled, refuses letters of Latin-1 outside ASCII.
function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function readBaseUrl(text: unknown): string {
  const url = typeof text === 'string' ? parseUrl(text) : undefined;
  const isPlain =
    url && /^https?:$/.test(url.protocol) && `${url.username}${url.password}${url.search}${url.hash}` === '';
  if (isPlain) return url.href.replace(/(?<!\/)\/+$/, '');
  throw new TypeError('baseUrl is the address of the service, such as https://push.shop.example: is its variable set?');
}

/** Equal to the version in package.json. */
export const sdkVersion = '0.1.0';

export interface Users {
  /** Creates the user, or updates the user with this `external_id`. Null clears a value. */
  upsert(user: UserRequest, options?: RequestOptions): Promise<UpsertedUser>;
  get(externalId: string, options?: RequestOptions): Promise<User>;
  /** Erases the user and opts out its devices. */
  delete(externalId: string, options?: RequestOptions): Promise<ErasedUser>;
}

function createUsers(request: Request): Users {
  return {
    upsert: (body, options) => request('upsertUser', { body }, options),
    get: (external_id, options) => request('getUser', { params: { external_id } }, options),
    delete: (external_id, options) => request('deleteUser', { params: { external_id } }, options),
  };
}

export interface Devices {
  /** Registers a device, or finds it again by its token. */
  register(device: DeviceRequest, options?: RequestOptions): Promise<RegisteredDevice>;
  /** Links a device to a user; `external_id: null` removes the link. */
  identify(link: IdentifyRequest, options?: RequestOptions): Promise<IdentifiedDevice>;
  /** One page, newest first. */
  list(query?: Query<'listDevices'>, options?: RequestOptions): Promise<DevicePage>;
  /** Every device, page by page. */
  all(query?: Query<'listDevices'>, options?: RequestOptions): AsyncGenerator<Device, void, undefined>;
  optOut(id: string, options?: RequestOptions): Promise<OptedOutDevice>;
}

function createDevices(request: Request): Devices {
  const list: Devices['list'] = (query, options) => request('listDevices', { query }, options);
  return {
    register: (body, options) => request('registerDevice', { body }, options),
    identify: (body, options) => request('identifyDevice', { body }, options),
    list,
    all: (query, options) => walk((cursor) => list({ limit: pageLimit, ...query, cursor }, options), query?.cursor),
    optOut: (id, options) => request('optOutDevice', { params: { id } }, options),
  };
}

export interface Segments {
  /**
   * Gives a filter a name. It is not repeated after an unknown result, because the name may be
   * taken by then.
   */
  create(segment: SegmentRequest, options?: RequestOptions): Promise<Segment>;
  /** One page, newest first. */
  list(query?: Query<'listSegments'>, options?: RequestOptions): Promise<SegmentPage>;
  /** Every segment, page by page. */
  all(query?: Query<'listSegments'>, options?: RequestOptions): AsyncGenerator<Segment, void, undefined>;
  get(id: string, options?: RequestOptions): Promise<Segment>;
  /** Replaces name, description and filter. */
  replace(id: string, segment: SegmentRequest, options?: RequestOptions): Promise<Segment>;
  delete(id: string, options?: RequestOptions): Promise<DeletedSegment>;
  /** Counts exactly how many devices a filter, a segment or another audience reaches now. */
  preview(request: PreviewRequest, options?: RequestOptions): Promise<Preview>;
}

function createSegments(request: Request): Segments {
  const list: Segments['list'] = (query, options) => request('listSegments', { query }, options);
  return {
    create: (body, options) => request('createSegment', { body }, options),
    list,
    all: (query, options) => walk((cursor) => list({ limit: pageLimit, ...query, cursor }, options), query?.cursor),
    get: (id, options) => request('getSegment', { params: { id } }, options),
    replace: (id, body, options) => request('replaceSegment', { params: { id }, body }, options),
    delete: (id, options) => request('deleteSegment', { params: { id } }, options),
    preview: (body, options) => request('previewAudience', { body }, options),
  };
}

export interface Properties {
  /** One page of the catalog, by key. Every page has `builtins`, the fields that always exist. */
  list(query?: Query<'listProperties'>, options?: RequestOptions): Promise<PropertyPage>;
  /** Every key, page by page. */
  all(query?: Query<'listProperties'>, options?: RequestOptions): AsyncGenerator<Property, void, undefined>;
}

function createProperties(request: Request): Properties {
  const list: Properties['list'] = (query, options) => request('listProperties', { query }, options);
  return {
    list,
    all: (query, options) => walk((cursor) => list({ limit: pageLimit, ...query, cursor }, options), query?.cursor),
  };
}

export interface Events {
  /**
   * Tracks one event, or up to 50: all or none. An event without an `id` gets one here, so that the
   * tries of this call count it once. Set your own ids to be safe across calls, too.
   */
  track(events: TrackedEvent | readonly TrackedEvent[], options?: RequestOptions): Promise<Tracked>;
}

function createEvents(request: Request): Events {
  const withId = (event: TrackedEvent): TrackedEvent => ({ ...event, id: event.id ?? randomUUID() });
  return {
    track(events, options) {
      const body = Array.isArray(events) ? { events: events.map(withId) } : withId(events as TrackedEvent);
      return request('trackEvents', { body }, options);
    },
  };
}
