// A service worker's global scope: events that can be waited for, notifications that can be clicked
// and closed, windows that can be focused and opened. As strict about notification options as the
// standard.
import { vi } from 'vitest';
import { FakePushManager, install } from './browser.ts';

export interface Window {
  readonly url: string;
  readonly focus: () => Promise<void>;
}

interface Shown {
  readonly title: string;
  readonly body: string;
  readonly data: unknown;
  readonly options: NotificationOptions & { renotify?: boolean };
  close(): void;
}

export const scope = 'https://shop.example/';

/**
 * Records what happened in the worker, in order: `close`, `focus URL`, `open URL`, `show TITLE`,
 * `badge N`.
 */
export async function startWorker(scriptPath = '/carillon-sw.js') {
  const happened: string[] = [];
  const shown: Shown[] = [];
  const windows: Window[] = [];
  const listeners = new Map<string, (event: object) => void>();
  const browser = install();
  const pushManager = new FakePushManager();
  const refuses = { options: false, everything: false, focus: false };

  const registration = {
    scope,
    pushManager,
    async showNotification(title: string, options: Shown['options'] = {}) {
      if (refuses.everything) throw new TypeError('Notifications are blocked.');
      if (options.renotify && !options.tag) throw new TypeError('renotify needs a tag.');
      if (refuses.options && options.icon) throw new TypeError('No such option here.');
      happened.push(`show ${title}`);
      const close = () => happened.push('close');
      shown.push({ title, body: options.body ?? '', data: structuredClone(options.data), options, close });
    },
  };
  Object.assign(browser.navigator, { setAppBadge: async (count: number) => void happened.push(`badge ${count}`) });
  Object.assign(browser.notification, { maxActions: 2 });
  vi.stubGlobal('self', {
    addEventListener: (kind: string, listener: (event: object) => void) => listeners.set(kind, listener),
    skipWaiting: async () => void happened.push('skip waiting'),
    location: new URL(scriptPath, scope),
    registration,
    clients: {
      matchAll: async () => windows,
      openWindow: async (url: string) => void happened.push(`open ${url}`),
    },
  });
  vi.resetModules();
  await import('../src/service-worker.ts');

  /**
   * Fires one event and waits for everything passed to `waitUntil`, as a browser does before it
   * stops the worker.
   */
  async function fire(kind: string, event: object): Promise<void> {
    const waits: Promise<unknown>[] = [];
    listeners.get(kind)?.({ ...event, waitUntil: (work: Promise<unknown>) => waits.push(work) });
    await Promise.all(waits);
  }

  return {
    browser,
    pushManager,
    happened,
    shown,
    refuses,
    install: () => fire('install', {}),
    push: (payload: unknown) => {
      const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
      return fire('push', { data: payload === null ? null : { text: () => text } });
    },
    click: (notification: Shown | undefined, action = '') => fire('notificationclick', { notification, action }),
    close: (notification: Shown | undefined) => fire('notificationclose', { notification }),
    subscriptionChange: (event: { oldSubscription: unknown; newSubscription: unknown }) =>
      fire('pushsubscriptionchange', event),
    openPage(url: string): void {
      const focus = async () => {
        if (refuses.focus) throw new TypeError('Not allowed to focus a window.');
        happened.push(`focus ${url}`);
      };
      windows.push({ url, focus });
    },
  };
}
