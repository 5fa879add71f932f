// The record that this browser keeps: its device, its service, and the person it was identified as.
// The worker reads it too, because a push carries neither address nor key.
import { inTransaction } from './database.ts';
import type { Service } from './transport.ts';

/** The look of notifications without a title, an icon or a badge of their own. */
export interface NotificationDefaults {
  /** Default: the host name of the site, which needs no translation. */
  readonly title?: string;
  /** URL of an image, 192 × 192 or larger. Default: the browser's own. */
  readonly icon?: string;
  /** URL of a one-colour image for Android's status bar. Default: the browser's own. */
  readonly badge?: string;
}

/** Facts that the site set itself. They override the browser's facts. */
export interface GivenFacts {
  readonly locale?: string;
  readonly timezone?: string;
  readonly app_version?: string;
}

export interface Identity {
  readonly externalId: string;
  readonly userToken?: string | undefined;
  readonly userHash?: string | undefined;
}

/** The user of a device, as the service acknowledged it. */
export interface Link {
  readonly deviceId: string;
  /**
   * The identity as JSON; `null` for nobody. Empty while an answer is missing, because the service
   * may or may not have received it.
   */
  readonly identity: string;
}

/** One record per scope of a service worker, so that two apps on one origin stay apart. */
export interface Browser extends Service {
  readonly scope: string;
  readonly deviceId: string | null;
  /** The client key that the device was registered with; null before the first registration. */
  readonly registeredWith: string | null;
  /**
   * The subscription as the service knows it; null before the first registration. When a new
   * subscription replaces it, it proves that the device is this browser's (contract 8).
   */
  readonly token: string | null;
  /** The VAPID key and the facts that the service knows; null before the first registration. */
  readonly vapidPublicKey: string | null;
  readonly facts: string | null;
  /** Milliseconds since 1970. 0 requests a registration at the next opportunity. */
  readonly registeredAt: number;
  /**
   * When a subscription that the service refuses was last replaced (ms since 1970). 0 after a
   * registration.
   */
  readonly replacedAt: number;
  readonly given: GivenFacts;
  readonly defaults: NotificationDefaults;
  /**
   * The person that the site named. It is kept before there is a device, and in case a new device
   * replaces this one.
   */
  readonly identity: Identity | null;
  /** The client key that the identity was set with. Another app must not receive it. */
  readonly saidWith: string | null;
  readonly identifiedAs: Link | null;
  /**
   * Paths that answered 404 for a device that may exist, and the time (ms since 1970) until which
   * each is not called.
   */
  readonly missing: Readonly<Record<string, number>>;
  /**
   * When such a 404 last caused a registration. Only a registration can tell a lost device from an
   * unknown path.
   */
  readonly doubtedAt: number;
  /**
   * The person opted out here. The SDK does not subscribe again until the site calls `subscribe()`.
   */
  readonly isOptedOut: boolean;
  /** Devices whose opt-out has not reached the service yet, oldest first. */
  readonly removals: readonly string[];
}

/** The record of a scope; undefined when there is none. */
export function findBrowser(scope: string): Promise<Browser | undefined> {
  return inTransaction<Browser>('browsers', 'readonly', (store, done) => {
    const request: IDBRequest<Browser | undefined> = store.get(scope);
    // A record of an earlier SDK version lacks the newer fields.
    request.onsuccess = () => request.result && done({ ...unknownBrowser(scope, request.result), ...request.result });
  });
}

/**
 * Changes the record and returns it. It uses one transaction, so that page and worker never undo
 * each other's changes. A record of another service is discarded, because its device is unknown
 * here.
 */
export async function changeBrowser(
  scope: string,
  { baseUrl, clientKey }: Service,
  change: (known: Browser) => Partial<Browser>,
): Promise<Browser> {
  // Callers may pass an older record as the service; only these two fields of it may be written
  // back.
  const service: Service = { baseUrl, clientKey };
  let changed = unknownBrowser(scope, service);
  await inTransaction<Browser>('browsers', 'readwrite', (store) => {
    const request: IDBRequest<Browser | undefined> = store.get(scope);
    request.onsuccess = () => {
      const known = request.result?.baseUrl === service.baseUrl ? request.result : undefined;
      const before: Browser = { ...changed, ...known, ...service };
      // A different key may belong to another app or be a rotated one. Only a registration of the
      // device can tell.
      const registeredAt = known?.clientKey === service.clientKey ? known.registeredAt : 0;
      changed = { ...before, registeredAt, ...change(before) };
      store.put(changed);
    };
  });
  return changed;
}

const hourMs = 60 * 60 * 1000;

/**
 * Records that `path` answered 404: the service may have lost the device, or may not have the path.
 * At most once a day this requests a registration, which tells the two apart. The path is not
 * called for an hour.
 */
export async function noteMissing(scope: string, service: Service, path: string): Promise<void> {
  const now = Date.now();
  await changeBrowser(scope, service, ({ missing, doubtedAt }) => ({
    missing: { ...missing, [path]: now + hourMs },
    ...(now - doubtedAt >= 24 * hourMs && { doubtedAt: now, registeredAt: 0 }),
  }));
}

export function isMissing({ missing }: Browser, path: string): boolean {
  return Date.now() < (missing[path] ?? 0);
}

function unknownBrowser(scope: string, service: Service): Browser {
  return {
    scope,
    baseUrl: service.baseUrl,
    clientKey: service.clientKey,
    deviceId: null,
    registeredWith: null,
    token: null,
    vapidPublicKey: null,
    facts: null,
    registeredAt: 0,
    replacedAt: 0,
    given: {},
    defaults: {},
    identity: null,
    saidWith: null,
    identifiedAs: null,
    missing: {},
    doubtedAt: 0,
    isOptedOut: false,
    removals: [],
  };
}
