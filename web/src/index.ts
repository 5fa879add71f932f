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
import { queueEvent, sendEvents } from './event-queue.ts';
import { oneAtATime } from './lock.ts';
import { listen, type PushReport } from './push-report.ts';
import { identifyDevice, type PropertyValue } from './register-device.ts';
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
import { callApi } from './transport.ts';

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
   * the same, the error is thrown, and the next `refresh()` or `unsubscribe()` tells the service.
   */
  unsubscribe(): Promise<void>;
  /**
   * Call it on each page load. Registers again when the app's key, the subscription or the device's facts have changed,
   * sends what `track` could not, and costs nothing where this browser never subscribed. Answers null there.
   */
  refresh(): Promise<Device | null>;
  /**
   * Says whose browser this is; `null` on log-out. `userHash` is made by your server (docs: identify hash). Before there
   * is a device it is remembered and told with the subscription. True when the service knows it now.
   */
  identify(externalId: string | null, userHash?: string): Promise<boolean>;
  /**
   * Tells what this person did. Resolves once the event is kept safely in this browser; it is sent in the background, at
   * most 50 at once, again after a failure, and counted once. Events wait until this browser has subscribed.
   */
  track(name: string, properties?: Readonly<Record<string, unknown>>, options?: TrackOptions): Promise<void>;
  /** This browser's device, or null. Asks nobody. */
  deviceId(): Promise<string | null>;
  /** What the app is configured for; throws `ApiError` 401 for a wrong key. */
  config(): Promise<AppConfig>;
  /** Hears what the worker sees while this page is open. Answers a function that stops it. */
  onPush(listener: (report: PushReport) => void): () => void;
}

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
  globalThis.addEventListener?.('online', sendLater);

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
      const browser = await oneAtATime(scope, () => subscribeAndRegister(site, { given: facts }, properties));
      sendLater();
      return { id: String(browser.deviceId) };
    },

    async unsubscribe() {
      await oneAtATime(scope, async () => {
        const removing = (await findBrowser(scope))?.deviceId;
        await changeBrowser(scope, service, (known) => ({
          deviceId: null,
          endpoint: null,
          identity: null,
          isOptedOut: true,
          removing: removing ?? known.removing,
        }));
        if (isPushSupported()) await (await presentSubscription(site))?.unsubscribe();
        await finishRemoval(site);
      });
    },

    async refresh() {
      const browser = await oneAtATime(scope, async () => {
        await finishRemoval(site);
        const known = await findBrowser(scope);
        return refreshRegistration(site, { given: { ...known?.given, ...given } });
      });
      sendLater();
      return browser?.deviceId ? { id: browser.deviceId } : null;
    },

    async identify(externalId, userHash) {
      const identity = externalId === null ? null : { externalId, ...(userHash !== undefined && { userHash }) };
      const browser = await changeBrowser(scope, service, () => ({ identity }));
      if (browser.deviceId) await identifyDevice(browser, browser.deviceId, identity);
      return browser.deviceId !== null;
    },

    async track(name, properties = {}, { id, occurredAt } = {}) {
      if (!name) throw new TypeError('An event needs a name.');
      await queueEvent(scope, {
        id: id ?? randomId(),
        name,
        // As JSON has it, for that is how it will travel; what JSON cannot hold is refused here and not in the background.
        properties: JSON.parse(JSON.stringify(properties)),
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
  return {
    service: { baseUrl: new URL(options.baseUrl, page).href.replace(/\/+$/, ''), clientKey: options.clientKey },
    serviceWorkerUrl,
    scope: new URL(options.scope ?? new URL('./', serviceWorkerUrl), page).href,
    defaults: options.notificationDefaults ?? {},
    onError,
  };
}

/** Tells the service of an opt-out. A device it does not know is one it has forgotten already. */
async function finishRemoval({ scope, service }: Site): Promise<void> {
  const removing = (await findBrowser(scope))?.removing;
  if (!removing) return;
  try {
    await callApi(service, { method: 'DELETE', path: `/v1/devices/${encodeURIComponent(removing)}` });
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  }
  await changeBrowser(scope, service, () => ({ removing: null }));
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
