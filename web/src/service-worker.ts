// The worker: shows every push, reports what became of it, opens what was clicked, keeps the subscription alive.
// A classic script without imports, so that a site can also `importScripts` it into a worker of its own. It has no
// `fetch` handler and no cache: it can never come between a site and its network.
import { type Browser, findBrowser, type NotificationDefaults } from './device-id.ts';
import { oneAtATime } from './lock.ts';
import { marksOf, readNotification, targetOf } from './notification.ts';
import { announce, type PushReport } from './push-report.ts';
import { subscriptionFor } from './push-subscription.ts';
import { registerDevice } from './register-device.ts';
import { type Receipt, sendReceipt } from './transport.ts';

const worker = self as unknown as ServiceWorkerGlobalScope;

/** Reading what is remembered takes milliseconds; a store that hangs must not cost the notification. */
const memoryTimeoutMs = 2_000;

/** Receipt tokens whose notification was closed by our own click handler: what follows is no dismissal. */
const clickedTokens = new Set<string>();

worker.addEventListener('install', (event) => {
  // A new version replaces the old at once: there is no cache and no page state that could mismatch. Inside a site's
  // own worker that decision is the site's. Nobody claims clients: a push needs no controlled page, and pages that
  // reload on `controllerchange` would.
  if (/carillon-sw[^/]*\.js$/.test(worker.location.pathname)) event.waitUntil(worker.skipWaiting());
});

worker.addEventListener('push', (event) => event.waitUntil(show(event.data)));

worker.addEventListener('notificationclick', (event) => {
  const { notification, action } = event;
  const { token } = marksOf(notification.data);
  if (token) clickedTokens.add(token);
  notification.close();
  // In parallel: the permission to open a window lapses while a slow network is waited for.
  event.waitUntil(
    Promise.allSettled([
      openOrFocus(targetOf(notification.data, action, scope())),
      mark(notification, 'clicked', action),
    ]),
  );
});

worker.addEventListener('notificationclose', (event) => {
  const { token } = marksOf(event.notification.data);
  if (token && clickedTokens.delete(token)) return;
  event.waitUntil(mark(event.notification, 'dismissed', ''));
});

worker.addEventListener('pushsubscriptionchange', (event) =>
  event.waitUntil(renew(event.newSubscription, event.oldSubscription)),
);

/** Always shows something: a push that shows nothing costs the site its permission (Safari at once, others by quota). */
async function show(data: PushMessageData | null): Promise<void> {
  const defaults: NotificationDefaults = (await remembered())?.defaults ?? {};
  const actionsMax = (Notification as { maxActions?: number }).maxActions;
  const shown = readNotification(data?.text() ?? null, defaults, worker.location.hostname, actionsMax);
  const { title, options } = shown;
  report('pushed', title, options);
  try {
    await worker.registration.showNotification(title, options);
  } catch {
    // One option this browser cannot take must not hide the words.
    const { body, tag, data } = options;
    await worker.registration.showNotification(title, { data, ...(body && { body }), ...(tag && { tag }) });
  }
  if (shown.appBadge !== null) await navigator.setAppBadge?.(shown.appBadge).catch(() => {});
  await mark({ title, body: options.body ?? '', data: options.data }, 'displayed', '');
}

/** Brings the page forward that shows the target already, else opens it. Without a target any page of the site will do. */
async function openOrFocus(target: string | null): Promise<void> {
  const windows = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
  const open = windows.find((client) => (target ? client.url === target : client.url.startsWith(scope())));
  try {
    if (open) {
      await open.focus();
      return;
    }
  } catch {
    // Some browsers do not let a hidden window be focused; a new one is better than nothing.
  }
  await worker.clients.openWindow(target ?? scope());
}

async function mark(
  shown: { readonly title: string; readonly body: string; readonly data: unknown },
  event: Receipt['event'],
  action: string,
): Promise<void> {
  report(event, shown.title, shown, action);
  const { token } = marksOf(shown.data);
  const baseUrl = token && (await remembered())?.baseUrl;
  if (!token || !baseUrl) return;
  const isSent = await sendReceipt(baseUrl, { token, event, ...(action && { action }) });
  if (!isSent) report('receipt_lost', shown.title, shown, action);
}

/**
 * Either subscription of the event may be null (Chromium: both, after a permission came back). The device keeps its id.
 * A failure is left to the next page load, whose `refresh()` finds the change.
 */
async function renew(given: PushSubscription | null, former: PushSubscription | null): Promise<void> {
  await oneAtATime(scope(), async () => {
    const browser = await findBrowser(scope());
    if (!browser?.deviceId || !browser.vapidPublicKey) return;
    const subscription = given ?? (await subscriptionFor(worker.registration.pushManager, browser.vapidPublicKey));
    // The facts are the page's: a worker sees a poorer `navigator`, and page and worker would correct each other for ever.
    // So are the events: where a log-out is told here, those of the person before wait for them.
    const facts = JSON.parse(browser.facts ?? '{}');
    await registerDevice(browser, subscription, facts, undefined, { onError: () => {} }, former);
    report('renewed', null, {});
  });
}

async function remembered(): Promise<Browser | undefined> {
  const tooLate = new Promise<undefined>((resolve) => setTimeout(resolve, memoryTimeoutMs, undefined));
  return Promise.race([findBrowser(scope()).catch(() => undefined), tooLate]);
}

function scope(): string {
  return worker.registration.scope;
}

function report(
  kind: PushReport['kind'],
  title: string | null,
  shown: { readonly body?: string; readonly data?: unknown },
  action = '',
): void {
  const { messageId } = marksOf(shown.data);
  announce(scope(), { kind, messageId, title, body: shown.body || null, action: action || null, at: Date.now() });
}
