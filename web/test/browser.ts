// A browser without a window: permission, one service worker registration and its push manager, as
// strict as real ones about keys and permission. `install` puts them where the SDK looks; vitest
// removes them again.
import { vi } from 'vitest';
import { indexedDbInMemory } from './indexed-db.ts';

let made = 0;

export class FakeSubscription {
  readonly endpoint: string;
  readonly options: { applicationServerKey: ArrayBuffer };
  readonly #auth = `auth-${made + 1}`;
  readonly #manager: FakePushManager;

  constructor(manager: FakePushManager, key: Uint8Array) {
    made += 1;
    this.endpoint = `https://fcm.googleapis.com/fcm/send/${made}`;
    this.options = { applicationServerKey: new Uint8Array(key).buffer };
    this.#manager = manager;
  }

  toJSON() {
    return { endpoint: this.endpoint, expirationTime: null, keys: { p256dh: 'p', auth: this.#auth } };
  }

  async unsubscribe(): Promise<boolean> {
    if (this.#manager.present === this) this.#manager.present = null;
    return true;
  }
}

export class FakePushManager {
  present: FakeSubscription | null = null;
  /** `getSubscription` hides the subscription once, as when another tab subscribes meanwhile. */
  isHidingOnce = false;
  failure: Error | null = null;

  async getSubscription(): Promise<FakeSubscription | null> {
    if (!this.isHidingOnce) return this.present;
    this.isHidingOnce = false;
    return null;
  }

  async subscribe(options: { userVisibleOnly: boolean; applicationServerKey: Uint8Array }): Promise<FakeSubscription> {
    if (this.failure) throw this.failure;
    if (!options.userVisibleOnly) throw new DOMException('userVisibleOnly is required.', 'NotAllowedError');
    const key = Buffer.from(options.applicationServerKey);
    if (this.present && !key.equals(Buffer.from(this.present.options.applicationServerKey))) {
      throw new DOMException('A subscription with a different key exists.', 'InvalidStateError');
    }
    this.present ??= new FakeSubscription(this, options.applicationServerKey);
    return this.present;
  }
}

/** Locks as one tab sees them: one holder at a time for each name, in order. */
function locksInOrder() {
  const tails = new Map<string, Promise<unknown>>();
  return {
    request<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
      const turn = (tails.get(name) ?? Promise.resolve()).then(work, work);
      tails.set(name, turn);
      return turn;
    },
  };
}

export function install(page = 'https://shop.example/cart') {
  const pushManager = new FakePushManager();
  const registrations = new Map<string, { scope: string; active: object; pushManager: FakePushManager }>();
  const notification = {
    permission: 'default' as NotificationPermission,
    /** The person's answer. */
    answer: 'granted' as NotificationPermission,
    asked: 0,
    async requestPermission(): Promise<NotificationPermission> {
      notification.asked += 1;
      notification.permission = notification.answer;
      return notification.answer;
    },
  };
  const navigator = {
    language: 'de-DE',
    userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0',
    vendor: '',
    maxTouchPoints: 0,
    onLine: true,
    locks: locksInOrder(),
    serviceWorker: {
      registered: [] as { url: string; scope: string }[],
      failure: null as Error | null,
      async register(url: string, options: { scope: string }) {
        if (navigator.serviceWorker.failure) throw navigator.serviceWorker.failure;
        navigator.serviceWorker.registered.push({ url, scope: options.scope });
        const registration = registrations.get(options.scope) ?? { scope: options.scope, active: {}, pushManager };
        registrations.set(options.scope, registration);
        return registration;
      },
      async getRegistration(scope: string) {
        return registrations.get(scope);
      },
    },
  };
  const indexedDB = indexedDbInMemory();
  vi.stubGlobal('navigator', navigator);
  vi.stubGlobal('Notification', notification);
  vi.stubGlobal('PushManager', FakePushManager);
  vi.stubGlobal('isSecureContext', true);
  vi.stubGlobal('document', { baseURI: page });
  vi.stubGlobal('indexedDB', indexedDB);
  return { navigator, notification, pushManager, indexedDB, registrations };
}
