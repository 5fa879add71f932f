// The public interface of the SDK: make this browser a device, say who uses it, track events.
// Importing it has no effect. Nothing is sent and nobody is asked until one of its functions is
// called.
import { changeBrowser, findBrowser, type GivenFacts, type NotificationDefaults } from './device-id.ts';
import {
  ApiError,
  CarillonError,
  InsecureContextError,
  type Issue,
  NetworkError,
  PermissionDeniedError,
  PushServiceError,
  ServiceWorkerError,
  StorageError,
  UnsupportedBrowserError,
  WebPushNotConfiguredError,
} from './errors.ts';
import { checkName, checkProperties, drainEvents, queueEvent, sendEvents } from './event-queue.ts';
import { oneAtATime } from './lock.ts';
import { finishRemovals, rememberOptOut } from './opt-out.ts';
import { listen, type PushReport } from './push-report.ts';
import { identifyDevice, type PropertyValue, repairLink } from './register-device.ts';
import {
  type AppConfig,
  askPermission,
  isPushSupported,
  presentSubscription,
  readConfig,
  refreshRegistration,
  requirePush,
  type Site,
  subscribeAndRegister,
} from './subscribe.ts';

export interface CarillonOptions {
  /** The address of the Carillon service, such as `https://push.example.com`. */
  readonly baseUrl: string;
  /** A client key, `ck_live_…`. A server key is refused, because it must never reach a browser. */
  readonly clientKey: string;
  /**
   * The URL where your site serves `carillon-sw.js`, or your own worker that imports it. Default:
   * `/carillon-sw.js`.
   */
  readonly serviceWorkerUrl?: string;
  /**
   * The scope of the worker. Each scope is a separate device. Default: the folder of
   * `serviceWorkerUrl`.
   */
  readonly scope?: string;
  /** The version of your site, stored with the device for filters. Default: none. */
  readonly appVersion?: string;
  /**
   * For notifications without a title, an icon or a badge. Default: the site's host name and the
   * browser's icons.
   */
  readonly notificationDefaults?: NotificationDefaults;
  /**
   * Receives failures that no call of yours can report, such as dropped events or a lost link to a
   * user. Default: `console.warn`.
   */
  readonly onError?: (error: unknown) => void;
}

export interface SubscribeOptions {
  /** Language and region such as `de-DE`. Default: the browser's. */
  readonly locale?: string;
  /** IANA name such as `Europe/Berlin`. Default: the browser's. */
  readonly timezone?: string;
  /**
   * Values of the device itself. Only keys in the app's catalog are allowed; `null` clears one.
   * Default: none.
   */
  readonly properties?: Readonly<Record<string, PropertyValue>>;
}

export interface TrackOptions {
  /**
   * Your own id, such as the order's. The same id counts once. Visible ASCII, up to 128 characters.
   * Default: a random one.
   */
  readonly id?: string;
  /** When the event happened. Default: now. */
  readonly occurredAt?: Date;
}

export interface Device {
  /** `dev_…` */
  readonly id: string;
}

export interface Carillon {
  /** The person's decision so far. It asks nobody. */
  permission(): 'granted' | 'denied' | 'default' | 'unsupported';
  /**
   * Asks for the permission, subscribes, and registers this browser. Call it from a click: browsers
   * ignore or punish questions without one. Throws a `CarillonError` whose class names the
   * obstacle.
   */
  subscribe(options?: SubscribeOptions): Promise<Device>;
  /**
   * Opts this browser out, here and at the service. If the service cannot be reached, the browser
   * is still unsubscribed and the error is thrown. The next `refresh()`, `subscribe()` or
   * `unsubscribe()` then tells the service.
   */
  unsubscribe(): Promise<void>;
  /**
   * Call it on each page load. It registers again when the app's key, the subscription or the
   * device's facts have changed. It repeats a failed `identify` and sends waiting events. For a
   * browser that never subscribed it resolves with null and sends no registration.
   */
  refresh(): Promise<Device | null>;
  /**
   * Tells the service who uses this browser; `null` on log-out. Your server makes `proof`, a token
   * or a hash (docs: identify). Before there is a device, the identity is stored and told with the
   * subscription. The last call wins over calls in progress and over other tabs. After a failure
   * `refresh()` tells it again. Resolves with true when the service knows it now.
   */
  identify(externalId: string | null, proof?: string): Promise<boolean>;
  /**
   * Tracks an event of this person. Resolves once the event is stored in this browser. The event is
   * sent in the background, at most 50 at once, repeated after a failure, and counted once. Events
   * wait until this browser has subscribed. Throws a `TypeError` for what the service would refuse:
   * a name or an id of more than 128 characters, more than 50 properties, more than 8 KiB of JSON
   * or five levels.
   */
  track(name: string, properties?: Readonly<Record<string, unknown>>, options?: TrackOptions): Promise<void>;
  /** The id of this browser's device, or null. It asks nobody. */
  deviceId(): Promise<string | null>;
  /** The app's configuration. Throws `ApiError` 401 for a wrong key. */
  config(): Promise<AppConfig>;
  /**
   * Calls the listener with the worker's reports while this page is open. Returns a function that
   * stops it.
   */
  onPush(listener: (report: PushReport) => void): () => void;
}

/** For each scope, the function that sends waiting events when the network is back. */
const senders = new Map<string, () => void>();

/**
 * Makes the client. Throws a `TypeError` for an address or a key that cannot be right. It may be
 * called on a server, because it touches nothing.
 */
export function createCarillon(options: CarillonOptions): Carillon {
  const onError = options.onError ?? ((error) => console.warn('carillon:', error));
  const given = options.appVersion === undefined ? {} : { app_version: options.appVersion };
  const site = siteOf(options, onError);
  const { service, scope } = site;

  const sendLater = (): void => {
    // Being offline is no failure: the events are stored, and `online` or the next page load sends
    // them.
    sendEvents(scope, onError).catch((error) => error instanceof NetworkError || onError(error));
  };
  // Pages may make many clients. The browser gets one listener per scope, which uses the newest
  // client.
  if (!senders.has(scope)) globalThis.addEventListener?.('online', () => senders.get(scope)?.());
  senders.set(scope, sendLater);

  return {
    permission: () => (isPushSupported() ? Notification.permission : 'unsupported'),

    async subscribe({ locale, timezone, properties } = {}) {
      requirePush();
      await askPermission();
      const facts: GivenFacts = {
        ...given,
        ...(locale !== undefined && { locale }),
        ...(timezone !== undefined && { timezone }),
      };
      const browser = await oneAtATime(scope, async () => {
        // An old opt-out that the service refuses must not prevent a new subscription.
        await finishRemovals(scope, service).catch(onError);
        return subscribeAndRegister(site, { given: facts }, properties);
      });
      sendLater();
      return { id: String(browser.deviceId) };
    },

    async unsubscribe() {
      await oneAtATime(scope, async () => {
        await rememberOptOut(scope, service);
        if (isPushSupported()) await (await presentSubscription(site))?.unsubscribe();
        await finishRemovals(scope, service);
      });
    },

    async refresh() {
      const browser = await oneAtATime(scope, async () => {
        await finishRemovals(scope, service).catch(onError);
        const known = await findBrowser(scope);
        const registered = await refreshRegistration(site, { given: { ...known?.given, ...given } });
        // Without the permission nothing is registered, but a log-out must still reach the service.
        if (!registered && known?.deviceId) await repairLink(known, site);
        return registered;
      });
      sendLater();
      return browser?.deviceId ? { id: browser.deviceId } : null;
    },

    async identify(externalId, proof) {
      // Only a token has dots, so a site need not know which proof its server makes.
      const form = proof?.includes('.') ? 'userToken' : 'userHash';
      const identity = externalId === null ? null : { externalId, [form]: proof };
      // Stored before the lock is taken, so that a call in progress with an older identity
      // continues with this one.
      await changeBrowser(scope, service, () => ({ identity, saidWith: service.clientKey }));
      const isTold = await oneAtATime(scope, async () => {
        if (!(await findBrowser(scope))?.deviceId) return false;
        return (await identifyDevice(scope, service, site.sendFirst)) === JSON.stringify(identity);
      });
      sendLater();
      return isTold;
    },

    async track(name, properties = {}, { id = randomId(), occurredAt } = {}) {
      checkName(name, id);
      await queueEvent(scope, {
        id,
        name,
        properties: checkProperties(properties),
        occurred_at: (occurredAt ?? new Date()).toISOString(),
      });
      sendLater();
    },

    async deviceId() {
      const browser = await findBrowser(scope);
      return browser?.baseUrl === service.baseUrl ? browser.deviceId : null;
    },
    config: () => readConfig(service),
    onPush: (listener) => listen(scope, listener),
  };
}

function siteOf(options: CarillonOptions, onError: (error: unknown) => void): Site {
  if (!options.clientKey.startsWith('ck_')) throw new TypeError('clientKey must be a client key, ck_live_….');
  // On a server there is no page to resolve against, and no function will be called there.
  const page = globalThis.document?.baseURI ?? options.baseUrl;
  const serviceWorkerUrl = new URL(options.serviceWorkerUrl ?? '/carillon-sw.js', page).href;
  const scope = new URL(options.scope ?? new URL('./', serviceWorkerUrl), page).href;
  return {
    service: { baseUrl: withoutLastSlashes(new URL(options.baseUrl, page).href), clientKey: options.clientKey },
    serviceWorkerUrl,
    scope,
    defaults: options.notificationDefaults ?? {},
    onError,
    sendFirst: () =>
      drainEvents(scope, onError).catch((error) => {
        // When offline, neither events nor the identity arrive, and both are kept for later. Any
        // other obstacle to events, such as a tracking blocker, must not delay a log-out.
        if (navigator.onLine === false) throw error;
        onError(error);
      }),
  };
}

function withoutLastSlashes(address: string): string {
  let end = address.length;
  while (address[end - 1] === '/') end--;
  return address.slice(0, end);
}

/** 128 random bits. `crypto.randomUUID` is missing on pages that were loaded over plain http. */
function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export type { AppConfig, Issue, NotificationDefaults, PropertyValue, PushReport };
export {
  ApiError,
  CarillonError,
  InsecureContextError,
  NetworkError,
  PermissionDeniedError,
  PushServiceError,
  ServiceWorkerError,
  StorageError,
  UnsupportedBrowserError,
  WebPushNotConfiguredError,
};
