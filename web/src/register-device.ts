// Tells the service which device this browser is: a new one, the same again, or the same with a
// rotated token. Page and worker both call it, under one lock, and its result is stored before it
// returns.
import { type DeviceFacts, detectFacts } from './device-facts.ts';
import { type Browser, changeBrowser, isMissing, type Link, noteMissing } from './device-id.ts';
import { ApiError, CarillonError } from './errors.ts';
import { oneAtATime } from './lock.ts';
import { keyOf, subscriptionFor } from './push-subscription.ts';
import { callApi, type Service } from './transport.ts';

const identifyPath = '/v1/identify';
const dayMs = 24 * 60 * 60 * 1000;

export type PropertyValue = string | number | boolean | null;

/**
 * Callbacks of a registration: one for errors that no caller sees, one that runs before the person
 * changes.
 */
export interface Reporters {
  readonly onError: (error: unknown) => void;
  /**
   * Sends the events of the person that the service still links to this device. It runs under the
   * events' lock. If it throws, the change is not told.
   */
  readonly sendFirst?: () => Promise<void>;
}

/** The current facts, in a form that can be compared with those sent last. */
export function factsNow(browser: Browser): DeviceFacts {
  return { ...detectFacts(), ...browser.given };
}

/** The subscription of a browser, and the manager that can replace it. */
export interface Subscribed {
  readonly subscription: PushSubscription;
  readonly manager: PushManager;
}

/** Why a subscription was renewed without a question to the person (contract 5.7). */
export type Healed = 'subscription_gone' | 'key_changed' | 'worker_missing';

/** The data of a registration beside the subscription. */
export interface Told {
  readonly facts: Partial<DeviceFacts>;
  readonly properties?: Readonly<Record<string, PropertyValue>> | undefined;
  /** The last subscription, if the browser names it and none is stored. */
  readonly former?: PushSubscription | null;
  readonly healed?: Healed | undefined;
}

/**
 * Registers the subscription and stores the device's id and user (contract 8), with the last
 * subscription as the proof. When the service does not know the device, or does not accept the
 * proof, it makes a new device. The new one is identified as the old one was; `onError` is called
 * if that fails.
 *
 * A subscription that the service refuses for good is replaced, once a day at most: Chrome has
 * handed out endpoints at `permanently-removed.invalid`, and a new subscription has a real one.
 */
export async function registerDevice(
  browser: Browser,
  { subscription, manager }: Subscribed,
  told: Told,
  reporters: Reporters,
): Promise<Browser> {
  try {
    return await registerOnce(browser, subscription, told, reporters);
  } catch (error) {
    const vapidPublicKey = keyOf(subscription) ?? browser.vapidPublicKey;
    if (!isTokenRefused(error) || Date.now() - browser.replacedAt < dayMs || !vapidPublicKey) throw error;
    const changed = await changeBrowser(browser.scope, browser, () => ({ replacedAt: Date.now() }));
    await subscription.unsubscribe();
    return registerOnce(changed, await subscriptionFor(manager, vapidPublicKey), told, reporters);
  }
}

function isTokenRefused(error: unknown): boolean {
  return error instanceof ApiError && error.status === 400 && error.issues.some(({ path }) => path[0] === 'token');
}

async function registerOnce(
  browser: Browser,
  subscription: PushSubscription,
  { facts, properties, former, healed }: Told,
  reporters: Reporters,
): Promise<Browser> {
  const token = tokenOf(subscription);
  const previous = browser.token ?? (former ? tokenOf(former) : null);
  const deviceId = await postDevice(browser, {
    platform: 'web',
    token,
    ...facts,
    ...(properties && { properties }),
    healed,
    ...(browser.deviceId && { device_id: browser.deviceId, ...(previous && { previous_token: previous }) }),
  });
  const isKnown = deviceId === browser.deviceId;
  const registered = await changeBrowser(browser.scope, browser, (known) => ({
    deviceId,
    registeredWith: browser.clientKey,
    token,
    vapidPublicKey: keyOf(subscription) ?? browser.vapidPublicKey,
    facts: JSON.stringify(facts),
    registeredAt: Date.now(),
    replacedAt: 0,
    isOptedOut: false,
    removals: known.removals.filter((id) => id !== deviceId),
    ...(!isKnown && { missing: {}, doubtedAt: 0 }),
    identifiedAs: known.identifiedAs?.deviceId === deviceId ? known.identifiedAs : null,
    // If both keys know the device, they belong to one app. An identity that was set for another
    // app is not told to this one.
    ...(known.saidWith === browser.clientKey || (isKnown && known.saidWith === browser.registeredWith)
      ? { saidWith: browser.clientKey }
      : { identity: null }),
  }));
  await repairLink(registered, reporters);
  return registered;
}

/** Tells the service the device's user unless it has acknowledged exactly that user. */
export async function repairLink(browser: Browser, { onError, sendFirst }: Reporters): Promise<void> {
  const { deviceId, identity, identifiedAs } = browser;
  const isLinked =
    identifiedAs?.deviceId === deviceId ? identifiedAs?.identity === JSON.stringify(identity) : identity === null;
  if (isLinked || isMissing(browser, identifyPath)) return;
  await identifyDevice(browser.scope, browser, sendFirst).catch(onError);
}

/**
 * Links the device to the person that the site named last (contract 5.9). The identity is read
 * again before every try, so that a later call wins. Needs the lock of the scope. No event is in
 * flight meanwhile, because the service gives each event to the user it knows at that moment.
 * Returns the acknowledged identity as JSON.
 */
export function identifyDevice(scope: string, service: Service, sendFirst?: Reporters['sendFirst']): Promise<string> {
  return oneAtATime(`events ${scope}`, async () => {
    await sendFirst?.();
    return tellIdentity(scope, service);
  });
}

async function tellIdentity(scope: string, service: Service): Promise<string> {
  let link: Link = { deviceId: '', identity: '' };
  const bodyNow = async (): Promise<unknown> => {
    const { deviceId, identity, saidWith } = await changeBrowser(scope, service, ({ deviceId }) => ({
      identifiedAs: deviceId === null ? null : { deviceId, identity: '' },
    }));
    // Another tab of the site may use another app by now.
    if (deviceId === null || (identity && saidWith !== service.clientKey)) {
      throw new CarillonError('The device is gone, or another client key uses it.');
    }
    link = { deviceId, identity: JSON.stringify(identity) };
    return {
      device_id: deviceId,
      external_id: identity?.externalId ?? null,
      user_hash: identity?.userHash,
      user_token: identity?.userToken,
    };
  };
  try {
    await callApi(service, { method: 'POST', path: identifyPath, bodyNow });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) await noteMissing(scope, service, identifyPath);
    throw error;
  }
  await changeBrowser(scope, service, () => ({ identifiedAs: link }));
  return link.identity;
}

async function postDevice(browser: Browser, body: Record<string, unknown>): Promise<string> {
  try {
    const answer = await callApi(browser, { method: 'POST', path: '/v1/devices', body });
    if (typeof answer['id'] === 'string') return answer['id'];
  } catch (error) {
    const without = fieldsToLeaveOut(error, browser, body);
    if (without.length === 0) throw error;
    return postDevice(browser, Object.fromEntries(Object.entries(body).filter(([key]) => !without.includes(key))));
  }
  throw new ApiError({ status: 200, error: 'invalid_answer', message: 'The service named no device.' });
}

/**
 * The fields to leave out in the next try. An unknown device is registered as a new one. A fact
 * that only the browser supplies, such as a time zone that the service does not know, must not
 * prevent the registration. Nor must `healed`, which older services do not know. A wrong fact that
 * the site itself gave is reported to the site.
 */
function fieldsToLeaveOut(error: unknown, browser: Browser, body: Record<string, unknown>): string[] {
  if (!(error instanceof ApiError)) return [];
  if (error.status === 404 && 'device_id' in body) return ['device_id', 'previous_token'];
  if (error.status !== 400) return [];
  const named = error.issues.map(({ path }) => String(path[0]));
  const isOurs = (field: string): boolean =>
    ['locale', 'timezone', 'os', 'healed'].includes(field) && field in body && !(field in browser.given);
  return named.every(isOurs) ? named : [];
}

/**
 * Only the keys that the service accepts; `expirationTime` and additions of a browser are left out
 * (contract 8).
 */
export function tokenOf(subscription: PushSubscription): string {
  const { endpoint, keys } = subscription.toJSON();
  return JSON.stringify({ endpoint, keys: { p256dh: keys?.['p256dh'], auth: keys?.['auth'] } });
}
