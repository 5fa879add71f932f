// The page's part of subscribing: the permission, the worker, and the registration at the service.
// It asks the person at most once per call, and never without a click.
import { type Browser, changeBrowser, findBrowser, type NotificationDefaults } from './device-id.ts';
import {
  InsecureContextError,
  PermissionDeniedError,
  ServiceWorkerError,
  UnsupportedBrowserError,
  WebPushNotConfiguredError,
} from './errors.ts';
import { keyOf, subscriptionFor } from './push-subscription.ts';
import {
  factsNow,
  type Healed,
  type PropertyValue,
  type Reporters,
  registerDevice,
  repairLink,
  type Subscribed,
  tokenOf,
} from './register-device.ts';
import { callApi, type Service } from './transport.ts';

/**
 * A device registers again once a day. The service then knows that it lives, and revives a device
 * that it retired by mistake.
 */
const registrationMsMax = 24 * 60 * 60 * 1000;

/** The app's configuration (contract 5.18). */
export interface AppConfig {
  /** Null when web push is not configured. */
  readonly vapidPublicKey: string | null;
  /** The proof that `identify` needs, in the form of the app's newest secret. Null: it needs none. */
  readonly proofForm: 'token' | 'hash' | null;
  /** True when the proof must be a token that names this device: send `deviceId()` to your server. */
  readonly isDeviceRequired: boolean;
}

/** The service, worker and scope of a page's subscription. */
export interface Site extends Reporters {
  readonly service: Service;
  readonly serviceWorkerUrl: string;
  /** An absolute URL. */
  readonly scope: string;
  readonly defaults: NotificationDefaults;
}

export function isPushSupported(): boolean {
  return 'serviceWorker' in (globalThis.navigator ?? {}) && 'PushManager' in globalThis && 'Notification' in globalThis;
}

/** Throws the reason for which this page can never subscribe, if there is one. */
export function requirePush(): void {
  if (!globalThis.isSecureContext) {
    throw new InsecureContextError('Push needs https, or http on localhost.');
  }
  if (isPushSupported()) return;
  const isAppleTouch = /iPhone|iPad|iPod/.test(navigator.userAgent) || navigator.maxTouchPoints > 1;
  const needsHomeScreen = isAppleTouch && navigator.vendor?.startsWith('Apple');
  throw new UnsupportedBrowserError(
    needsHomeScreen ? 'Add this site to the Home Screen and open it there.' : 'This browser has no web push.',
    needsHomeScreen,
  );
}

/**
 * Asks the person unless they have decided. Must come first after the click, because the click's
 * permission to ask soon lapses.
 */
export async function askPermission(): Promise<void> {
  const permission =
    Notification.permission === 'default' ? await Notification.requestPermission() : Notification.permission;
  if (permission === 'granted') return;
  throw new PermissionDeniedError(
    permission === 'denied' ? 'Notifications are blocked for this site.' : 'The question was closed without an answer.',
    permission,
  );
}

export async function readConfig(service: Service): Promise<AppConfig> {
  const answer = await callApi(service, { method: 'GET', path: '/v1/config' });
  return {
    vapidPublicKey: answer['vapid_public_key'] as AppConfig['vapidPublicKey'],
    proofForm: answer['identify_form'] as AppConfig['proofForm'],
    isDeviceRequired: answer['identify_device_required'] as boolean,
  };
}

/** Subscribes with the current key and registers the device in any case. Needs the permission. */
export async function subscribeAndRegister(
  site: Site,
  change: Partial<Browser>,
  properties?: Readonly<Record<string, PropertyValue>>,
): Promise<Browser> {
  const { subscribed, vapidPublicKey } = await subscribe(site);
  const browser = await changeBrowser(site.scope, site.service, () => ({
    ...change,
    defaults: site.defaults,
    vapidPublicKey,
    // A refused subscription is replaced again, because the person asked for it.
    replacedAt: 0,
  }));
  return registerDevice(browser, subscribed, { facts: factsNow(browser), properties }, site);
}

/**
 * Repairs what changed since the last page load: key, subscription, facts, or a failed link to a
 * user. Resolves with null and sends nothing when this browser never subscribed or has opted out.
 */
export async function refreshRegistration(site: Site, change: Partial<Browser>): Promise<Browser | null> {
  if (!globalThis.isSecureContext || !isPushSupported() || Notification.permission !== 'granted') return null;
  const known = await findBrowser(site.scope);
  if (known?.isOptedOut) return null;
  // The stored record may be lost, because browsers clear storage. An existing subscription shows
  // that the person once agreed, and so does one that was replaced.
  if (!known?.deviceId && !known?.replacedAt && !(await presentSubscription(site))) return null;
  const { subscribed, vapidPublicKey, healed } = await subscribe(site);
  const browser = await changeBrowser(site.scope, site.service, () => ({
    ...change,
    defaults: site.defaults,
    vapidPublicKey,
  }));
  const facts = factsNow(browser);
  const isCurrent =
    browser.deviceId !== null &&
    browser.token === tokenOf(subscribed.subscription) &&
    browser.facts === JSON.stringify(facts) &&
    Date.now() - browser.registeredAt < registrationMsMax;
  // Without a known device the record was lost, not the subscription.
  if (!isCurrent)
    return registerDevice(browser, subscribed, { facts, healed: browser.deviceId ? healed : undefined }, site);
  await repairLink(browser, site);
  return browser;
}

/**
 * The subscription of exactly this scope: a site may have other workers with subscriptions of their
 * own.
 */
export async function presentSubscription(site: Site): Promise<PushSubscription | null> {
  return (await presentRegistration(site))?.pushManager.getSubscription() ?? null;
}

async function presentRegistration({ scope }: Site): Promise<ServiceWorkerRegistration | null> {
  const registration = await navigator.serviceWorker.getRegistration(scope);
  return registration?.scope === scope ? registration : null;
}

function lossOf(registration: unknown, present: unknown): Healed {
  if (!registration) return 'worker_missing';
  return present ? 'key_changed' : 'subscription_gone';
}

async function subscribe(site: Site) {
  const { vapidPublicKey } = await readConfig(site.service);
  if (!vapidPublicKey) throw new WebPushNotConfiguredError('Web push is not configured for this app.');
  const registration = await presentRegistration(site);
  const present = await registration?.pushManager.getSubscription();
  const { pushManager: manager } = await installWorker(site);
  const subscription = await subscriptionFor(manager, vapidPublicKey);
  const subscribed: Subscribed = { subscription, manager };
  return {
    subscribed,
    vapidPublicKey: keyOf(subscription) ?? vapidPublicKey,
    // Browsers return another object for the same subscription.
    healed: present?.endpoint === subscription.endpoint ? undefined : lossOf(registration, present),
  };
}

/**
 * Registering an installed worker makes the browser look for a new version. Only an active worker
 * can subscribe.
 */
async function installWorker(site: Site): Promise<ServiceWorkerRegistration> {
  try {
    const registration = await navigator.serviceWorker.register(site.serviceWorkerUrl, {
      scope: site.scope,
      updateViaCache: 'none',
    });
    const starting = registration.active ? null : (registration.waiting ?? registration.installing);
    if (starting) await activation(starting);
    return registration;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ServiceWorkerError(`${site.serviceWorkerUrl} cannot be installed: ${reason}`, { cause });
  }
}

function activation(starting: ServiceWorker): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      if (starting.state === 'activated') resolve();
      if (starting.state === 'redundant') reject(new Error('it failed to start'));
    };
    starting.addEventListener('statechange', settle);
    settle();
  });
}
