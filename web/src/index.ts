// What a site uses: make this browser a device, say whose it is, tell what people did. Everything else is behind it.
// Importing it does nothing; nothing is sent and nobody is asked until one of these functions is called.
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
  /** Address of the Carillon service, such as `https://push.example.com`. */
  readonly baseUrl: string;
  /** A client key, `ck_live_…`. A server key is refused: it must never reach a browser. */
  readonly clientKey: string;
  /** Where your site serves `carillon-sw.js`, or a worker of yours that imports it. Default: `/carillon-sw.js`. */
  readonly serviceWorkerUrl?: string;
  /** The scope of the worker; each scope is a device of its own. Default: the folder of `serviceWorkerUrl`. */
  readonly scope?: string;
  /** Version of your site, kept with the device for filters. Default: none. */
  readonly appVersion?: string;
  /** For notifications that bring no title, icon or badge. Default: the site's host name, the browser's icons. */
  readonly notificationDefaults?: NotificationDefaults;
  /** Hears of failures that no call of yours could: dropped events, a lost link to a user. Default: `console.warn`. */
  readonly onError?: (error: unknown) => void;
}

export interface SubscribeOptions {
  /** Language and region such as `de-DE`. Default: the browser's. */
  readonly locale?: string;
  /** IANA name such as `Europe/Berlin`. Default: the browser's. */
  readonly timezone?: string;
  /** Values of the device itself. Only keys that the app's catalog has; `null` clears one. Default: none. */
  readonly properties?: Readonly<Record<string, PropertyValue>>;
}

export interface TrackOptions {
  /** Your own id, such as the order's: the same id counts once. Visible ASCII, up to 128. Default: a random one. */
  readonly id?: string;
  /** When it happened. Default: now. */
  readonly occurredAt?: Date;
}

export interface Device {
  /** `dev_…` */
  readonly id: string;
}

export interface Carillon {
  /** What the person has decided so far. Asks nobody. */
  permission(): 'granted' | 'denied' | 'default' | 'unsupported';
  /**
   * Asks for the permission, subscribes and registers this browser. Call it from a click: browsers ignore or punish
   * questions nobody asked for. Throws a `CarillonError`, whose class says what is in the way.
   */
  subscribe(options?: SubscribeOptions): Promise<Device>;
  /**
   * Opts this browser out, here and at the service. If the service cannot be reached the browser is unsubscribed all
   * the same, the error is thrown, and the next `refresh()`, `subscribe()` or `unsubscribe()` tells the service.
   */
  unsubscribe(): Promise<void>;
  /**
   * Call it on each page load. Registers again when the app's key, the subscription or the device's facts have changed,
   * says again whose it is where that failed, sends what `track` could not, and costs nothing where this browser never
   * subscribed. Answers null there.
   */
  refresh(): Promise<Device | null>;
  /**
   * Says whose browser this is; `null` on log-out. `userHash` is made by your server (docs: identify hash). Before there
   * is a device it is remembered and told with the subscription. The last call wins, also over one that is still trying
   * and over other tabs; where it fails, `refresh()` tells it again. True when the service knows it now.
   */
  identify(externalId: string | null, userHash?: string): Promise<boolean>;
  /**
   * Tells what this person did. Resolves once the event is kept safely in this browser; it is sent in the background, at
   * most 50 at once, again after a failure, and counted once. Events wait until this browser has subscribed. Throws a
   * `TypeError` for what the service would refuse: a name or an id of more than 128 characters, more than 50 properties, more than
   * 8 KiB of JSON or five levels.
   */
  track(name: string, properties?: Readonly<Record<string, unknown>>, options?: TrackOptions): Promise<void>;
  /** This browser's device, or null. Asks nobody. */
  deviceId(): Promise<string | null>;
  /** What the app is configured for; throws `ApiError` 401 for a wrong key. */
  config(): Promise<AppConfig>;
  /** Hears what the worker sees while this page is open. Answers a function that stops it. */
  onPush(listener: (report: PushReport) => void): () => void;
}

/** How each scope sends what waits when the network is back. */
const senders = new Map<string, () => void>();

/** Makes the client. Throws a `TypeError` for an address or key that cannot be right. May be called on a server: it touches nothing. */
export function createCarillon(options: CarillonOptions): Carillon {
  const onError = options.onError ?? ((error) => console.warn('carillon:', error));
  const given = options.appVersion === undefined ? {} : { app_version: options.appVersion };
  const site = siteOf(options, onError);
  const { service, scope } = site;

  const sendLater = (): void => {
    // Offline is no failure: the events are kept, and `online` or the next page load brings them on their way.
    sendEvents(scope, onError).catch((error) => error instanceof NetworkError || onError(error));
  };
  // Pages make clients as often as they like; the browser hears of one for each scope, the newest.
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
        // An old opt-out the service will not take must not keep anyone from coming back.
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
        // Where the permission is gone nothing is registered, but a log-out still has to arrive.
        if (!registered && known?.deviceId) await repairLink(known, site);
        return registered;
      });
      sendLater();
      return browser?.deviceId ? { id: browser.deviceId } : null;
    },

    async identify(externalId, userHash) {
      const identity = externalId === null ? null : { externalId, ...(userHash !== undefined && { userHash }) };
      // Remembered before the lock: a call that still tries to tell an older identity goes on with this one.
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
  // On a server there is no page to resolve against, and nothing will be called there.
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
        // Offline neither events nor identity arrive, and both keep for later. What else holds events up, such as a blocker
        // of tracking, must not hold up a log-out.
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

/** 128 random bits. `crypto.randomUUID` is missing where a page came over plain http. */
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
