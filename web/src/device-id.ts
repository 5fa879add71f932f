// What this browser remembers of itself: which device it is, where its service is, whom it was identified as.
// The worker reads it too, for a push never carries an address or a key.
import { inTransaction } from './database.ts';
import type { Service } from './transport.ts';

/** How notifications look that bring no title, icon or badge of their own. */
export interface NotificationDefaults {
  /** Default: the host name of the site, which needs no translation. */
  readonly title?: string;
  /** URL of an image, 192 × 192 or larger. Default: the browser's own. */
  readonly icon?: string;
  /** URL of a one-colour image for Android's status bar. Default: the browser's own. */
  readonly badge?: string;
}

/** Facts that the site named itself; they win over what the browser says. */
export interface GivenFacts {
  readonly locale?: string;
  readonly timezone?: string;
  readonly app_version?: string;
}

export interface Identity {
  readonly externalId: string;
  readonly userHash?: string;
}

/** Whose a device is as the service acknowledged it. */
export interface Link {
  readonly deviceId: string;
  /** The identity as JSON, `null` for nobody; empty while an answer is out, when the service may have heard it or not. */
  readonly identity: string;
}

/** One per scope of a service worker: two apps on one origin do not meet. */
export interface Browser extends Service {
  readonly scope: string;
  readonly deviceId: string | null;
  /** The client key that the device is known under; null before the first registration. */
  readonly registeredWith: string | null;
  /**
   * The subscription as the service has it, null before the first registration. It proves that the device is this browser's when
   * another takes its place (contract 8).
   */
  readonly token: string | null;
  /** The key and the facts that the service knows; null before the first registration. */
  readonly vapidPublicKey: string | null;
  readonly facts: string | null;
  /** Milliseconds since 1970; 0 asks for a registration at the next opportunity. */
  readonly registeredAt: number;
  readonly given: GivenFacts;
  readonly defaults: NotificationDefaults;
  /** Whom the site says this is; kept before there is a device, and for the case that the device is made anew. */
  readonly identity: Identity | null;
  /** The client key it was said with: another app must not hear it. */
  readonly saidWith: string | null;
  readonly identifiedAs: Link | null;
  /** By path: until when (ms since 1970) it is left alone, after a 404 for a device that may well be known. */
  readonly missing: Readonly<Record<string, number>>;
  /** When such a 404 last led to a registration, which alone can tell a lost device from an unknown path. */
  readonly doubtedAt: number;
  /** The person opted out here: nothing subscribes again until the site calls `subscribe()`. */
  readonly isOptedOut: boolean;
  /** Devices whose opt-out has not reached the service yet, oldest first. */
  readonly removals: readonly string[];
}

/** What is remembered for a scope; undefined before anything was. */
export function findBrowser(scope: string): Promise<Browser | undefined> {
  return inTransaction<Browser>('browsers', 'readonly', (store, done) => {
    const request: IDBRequest<Browser | undefined> = store.get(scope);
    // What an earlier version of the SDK kept lacks the newer fields.
    request.onsuccess = () => request.result && done({ ...unknownBrowser(scope, request.result), ...request.result });
  });
}

/**
 * Changes what is remembered and answers the result. One transaction, so that page and worker never undo each other.
 * What was kept for another service goes: its device is unknown here.
 */
export async function changeBrowser(
  scope: string,
  { baseUrl, clientKey }: Service,
  change: (known: Browser) => Partial<Browser>,
): Promise<Browser> {
  // Callers may hand in a record they read earlier: of it only these two may be written back.
  const service: Service = { baseUrl, clientKey };
  let changed = unknownBrowser(scope, service);
  await inTransaction<Browser>('browsers', 'readwrite', (store) => {
    const request: IDBRequest<Browser | undefined> = store.get(scope);
    request.onsuccess = () => {
      const known = request.result?.baseUrl === service.baseUrl ? request.result : undefined;
      const before: Browser = { ...changed, ...known, ...service };
      // Another key may be another app's or a rotated one, and only a registration of the device can tell.
      const registeredAt = known?.clientKey === service.clientKey ? known.registeredAt : 0;
      changed = { ...before, registeredAt, ...change(before) };
      store.put(changed);
    };
  });
  return changed;
}

const hourMs = 60 * 60 * 1000;

/**
 * Remembers that `path` answered 404. The service may have lost the device, or not have the path: at most once a day
 * that asks for a registration, which tells, and for an hour the path is left alone.
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
