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

/** One per scope of a service worker: two apps on one origin do not meet. */
export interface Browser extends Service {
  readonly scope: string;
  readonly deviceId: string | null;
  /** The endpoint, key and facts that the service knows; null before the first registration. */
  readonly endpoint: string | null;
  readonly vapidPublicKey: string | null;
  readonly facts: string | null;
  /** Milliseconds since 1970; 0 asks for a registration at the next opportunity. */
  readonly registeredAt: number;
  readonly given: GivenFacts;
  readonly defaults: NotificationDefaults;
  /** Whom the site says this is; kept before there is a device, and for the case that the device is made anew. */
  readonly identity: Identity | null;
  /** The person opted out here: nothing subscribes again until the site calls `subscribe()`. */
  readonly isOptedOut: boolean;
  /** A device whose opt-out has not reached the service yet. */
  readonly removing: string | null;
}

/** What is remembered for a scope; undefined before anything was. */
export function findBrowser(scope: string): Promise<Browser | undefined> {
  return inTransaction<Browser>('browsers', 'readonly', (store, done) => {
    const request: IDBRequest<Browser> = store.get(scope);
    request.onsuccess = () => done(request.result);
  });
}

/**
 * Changes what is remembered and answers the result. One transaction, so that page and worker never undo each other.
 * What was kept for another service goes: its device is unknown here.
 */
export async function changeBrowser(
  scope: string,
  service: Service,
  change: (known: Browser) => Partial<Browser>,
): Promise<Browser> {
  let changed = unknownBrowser(scope, service);
  await inTransaction<Browser>('browsers', 'readwrite', (store) => {
    const request: IDBRequest<Browser | undefined> = store.get(scope);
    request.onsuccess = () => {
      const known = request.result?.baseUrl === service.baseUrl ? request.result : undefined;
      const before: Browser = { ...changed, ...known, ...service };
      // Another key may be another app's, and only a registration can tell.
      const registeredAt = known?.clientKey === service.clientKey ? known.registeredAt : 0;
      changed = { ...before, registeredAt, ...change(before) };
      store.put(changed);
    };
  });
  return changed;
}

function unknownBrowser(scope: string, service: Service): Browser {
  return {
    scope,
    baseUrl: service.baseUrl,
    clientKey: service.clientKey,
    deviceId: null,
    endpoint: null,
    vapidPublicKey: null,
    facts: null,
    registeredAt: 0,
    given: {},
    defaults: {},
    identity: null,
    isOptedOut: false,
    removing: null,
  };
}
