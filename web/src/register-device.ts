// Tells the service which device this browser is: a new one, the same one again, or the same one with a rotated token.
// Page and worker both call it, under one lock, and what it learns is remembered before it returns.
import { type DeviceFacts, detectFacts } from './device-facts.ts';
import { type Browser, changeBrowser, type Identity } from './device-id.ts';
import { ApiError } from './errors.ts';
import { keyOf } from './push-subscription.ts';
import { callApi } from './transport.ts';

export type PropertyValue = string | number | boolean | null;

/** What the facts are now, in a form that can be compared with those sent last. */
export function factsNow(browser: Browser): DeviceFacts {
  return { ...detectFacts(), ...browser.given };
}

/**
 * Registers the subscription and keeps the device's id and user (contract 8). Where the service does not know the
 * device any more it makes a new one, which is then identified as the old one was; `onError` hears if that fails.
 */
export async function registerDevice(
  browser: Browser,
  subscription: PushSubscription,
  properties: Readonly<Record<string, PropertyValue>> | undefined,
  onError: (error: unknown) => void,
): Promise<Browser> {
  const facts = factsNow(browser);
  const deviceId = await postDevice(browser, {
    platform: 'web',
    token: tokenOf(subscription),
    ...facts,
    ...(properties && { properties }),
    ...(browser.deviceId && { device_id: browser.deviceId }),
  });
  const registered = await changeBrowser(browser.scope, browser, (known) => ({
    deviceId,
    endpoint: subscription.endpoint,
    vapidPublicKey: keyOf(subscription) ?? browser.vapidPublicKey,
    facts: JSON.stringify(facts),
    registeredAt: Date.now(),
    isOptedOut: false,
    removing: known.removing === deviceId ? null : known.removing,
  }));
  if (registered.identity && deviceId !== browser.deviceId) {
    await identifyDevice(registered, deviceId, registered.identity).catch(onError);
  }
  return registered;
}

/** Links the device to a user of the app (contract 5.9). One the service has lost is registered anew at the next refresh. */
export async function identifyDevice(browser: Browser, deviceId: string, identity: Identity | null): Promise<void> {
  const body = {
    device_id: deviceId,
    external_id: identity?.externalId ?? null,
    ...(identity?.userHash !== undefined && { user_hash: identity.userHash }),
  };
  try {
    await callApi(browser, { method: 'POST', path: '/v1/identify', body });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) {
      await changeBrowser(browser.scope, browser, () => ({ registeredAt: 0 }));
    }
    throw error;
  }
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
 * An unknown device is registered anew. A fact that only the browser vouches for (a zone the service never heard of)
 * must not cost the registration; what the site gave itself is its own mistake to hear of.
 */
function fieldsToLeaveOut(error: unknown, browser: Browser, body: Record<string, unknown>): string[] {
  if (!(error instanceof ApiError)) return [];
  if (error.status === 404 && 'device_id' in body) return ['device_id'];
  if (error.status !== 400) return [];
  const detected = ['locale', 'timezone', 'os'].filter((field) => field in body && !(field in browser.given));
  const named = error.issues.map((issue) => String(issue.path[0]));
  return named.every((field) => detected.includes(field)) ? named : [];
}

/** Only the keys the service accepts: `expirationTime` and whatever a browser adds stay behind (contract 8). */
function tokenOf(subscription: PushSubscription): string {
  const { endpoint, keys } = subscription.toJSON();
  return JSON.stringify({ endpoint, keys: { p256dh: keys?.['p256dh'], auth: keys?.['auth'] } });
}
