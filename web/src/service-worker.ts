// The service worker: shows every push, reports receipts, opens what was clicked, and keeps the
// subscription alive. It is a classic script without imports, so that a site can also
// `importScripts` it into its own worker. It has no `fetch` handler and no cache, so it never
// stands between a site and its network.
import { type Browser, findBrowser, type NotificationDefaults } from './device-id.ts';
import { oneAtATime } from './lock.ts';
import { marksOf, readNotification, targetOf } from './notification.ts';
import { announce, type PushReport } from './push-report.ts';
import { subscriptionFor } from './push-subscription.ts';
import { registerDevice } from './register-device.ts';
import { type Receipt, sendReceipt } from './transport.ts';

const worker = self as unknown as ServiceWorkerGlobalScope;

/**
 * Reading the stored record takes milliseconds. A store that hangs must not prevent the
 * notification.
 */
const memoryTimeoutMs = 2_000;

/**
 * Receipt tokens of notifications that our own click handler closed: the close event that follows
 * is no dismissal.
 */
const clickedTokens = new Set<string>();

worker.addEventListener('install', (event) => {
  // A new version replaces the old at once, because no cache and no page state could mismatch.
  // Inside a site's own worker that decision is the site's. The worker does not claim clients: a
  // push needs no controlled page, and pages that reload on `controllerchange` would reload.
  if (/carillon-sw[^/]*\.js$/.test(worker.location.pathname)) event.waitUntil(worker.skipWaiting());
});

worker.addEventListener('push', (event) => event.waitUntil(show(event.data)));

worker.addEventListener('notificationclick', (event) => {
  const { notification, action } = event;
  const { token } = marksOf(notification.data);
  if (token) clickedTokens.add(token);
  notification.close();
  // Both run in parallel, because the permission to open a window would lapse during a slow
  // request.
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

/**
 * Always shows a notification: a push that shows nothing costs the site its permission (Safari at
 * once, others by quota).
 */
async function show(data: PushMessageData | null): Promise<void> {
  const defaults: NotificationDefaults = (await remembered())?.defaults ?? {};
  const actionsMax = (Notification as { maxActions?: number }).maxActions;
  const shown = readNotification(data?.text() ?? null, defaults, worker.location.hostname, actionsMax);
  const { title, options } = shown;
  report('pushed', title, options);
  try {
    await worker.registration.showNotification(title, options);
  } catch {
    // An option that this browser rejects must not hide the text.
    const { body, tag, data } = options;
    await worker.registration.showNotification(title, { data, ...(body && { body }), ...(tag && { tag }) });
  }
  if (shown.appBadge !== null) await navigator.setAppBadge?.(shown.appBadge).catch(() => {});
  await mark({ title, body: options.body ?? '', data: options.data }, 'displayed', '');
}

/**
 * Focuses the page that already shows the target, else opens it. Without a target any page of the
 * site is focused.
 */
async function openOrFocus(target: string | null): Promise<void> {
  const windows = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
  const open = windows.find((client) => (target ? client.url === target : client.url.startsWith(scope())));
  try {
    if (open) {
      await open.focus();
      return;
    }
  } catch {
    // Some browsers refuse to focus a hidden window, so a new one is opened.
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
 * Either subscription of the event may be null (in Chromium both, after a permission came back).
 * The device keeps its id. After a failure the next page load repairs it, because `refresh()` sees
 * the change.
 */
async function renew(given: PushSubscription | null, former: PushSubscription | null): Promise<void> {
  await oneAtATime(scope(), async () => {
    const browser = await findBrowser(scope());
    if (!browser?.deviceId || !browser.vapidPublicKey) return;
    const manager = worker.registration.pushManager;
    const subscription = given ?? (await subscriptionFor(manager, browser.vapidPublicKey));
    // The page's stored facts are used: a worker sees fewer facts in `navigator`, and page and
    // worker would overwrite each other forever. Events are also left to the page: when a log-out
    // is told here, the former person's events wait.
    const facts = JSON.parse(browser.facts ?? '{}');
    const healed = given ? undefined : 'subscription_gone';
    await registerDevice(browser, { subscription, manager }, { facts, former, healed }, { onError: () => {} });
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
