// Every way the SDK can refuse, each a class with the facts a page needs to act on it. Knows nothing else.
// Names are set by hand because minifying renames classes.

/** One rejected field of a request, as the service names it (contract 2). */
export interface Issue {
  readonly path: readonly (string | number)[];
  readonly code: string;
  readonly message: string;
}

/** What every error of this SDK is. */
export class CarillonError extends Error {
  override readonly name: string = 'CarillonError';
}

/** The service answered with an error; `message` is its own text. */
export class ApiError extends CarillonError {
  override readonly name = 'ApiError';
  readonly status: number;
  /** The service's code, such as `invalid_key` or `rate_limited`; `invalid_answer` where the answer was not its JSON. */
  readonly error: string;
  /** The rejected fields of a 400; otherwise empty. */
  readonly issues: readonly Issue[];
  /** Where in the request stands what a 403 refuses; null where the answer did not say. */
  readonly path: Issue['path'] | null;
  /** To quote to whoever runs the service; null where the answer carried none. */
  readonly requestId: string | null;
  /** How long to wait before the next try; null where the service did not say. */
  readonly retryAfterMs: number | null;

  constructor(answer: {
    message: string;
    status: number;
    error: string;
    issues?: readonly Issue[];
    path?: Issue['path'] | null;
    requestId?: string | null;
    retryAfterMs?: number | null;
  }) {
    super(answer.message);
    this.status = answer.status;
    this.error = answer.error;
    this.issues = answer.issues ?? [];
    this.path = answer.path ?? null;
    this.requestId = answer.requestId ?? null;
    this.retryAfterMs = answer.retryAfterMs ?? null;
  }
}

/** No answer came: offline, blocked, a wrong address, or too slow. */
export class NetworkError extends CarillonError {
  override readonly name = 'NetworkError';
}

/** This browser has no web push, or not here. */
export class UnsupportedBrowserError extends CarillonError {
  override readonly name = 'UnsupportedBrowserError';
  /** True on an iPhone or iPad, where push works once the site was added to the Home Screen. */
  readonly needsHomeScreen: boolean;

  constructor(message: string, needsHomeScreen: boolean) {
    super(message);
    this.needsHomeScreen = needsHomeScreen;
  }
}

/** The page came over plain http from a host that is not this machine: browsers allow no service worker there. */
export class InsecureContextError extends CarillonError {
  override readonly name = 'InsecureContextError';
}

/** The person said no, or closed the question without an answer. */
export class PermissionDeniedError extends CarillonError {
  override readonly name = 'PermissionDeniedError';
  /** `denied`: only the person can undo it, in the browser's settings. `default`: it may be asked again later. */
  readonly permission: 'denied' | 'default';

  constructor(message: string, permission: 'denied' | 'default') {
    super(message);
    this.permission = permission;
  }
}

/** The app has no VAPID key yet, so no browser can subscribe. */
export class WebPushNotConfiguredError extends CarillonError {
  override readonly name = 'WebPushNotConfiguredError';
}

/** The worker script could not be installed: not found, not JavaScript, outside its scope, or it failed while starting. */
export class ServiceWorkerError extends CarillonError {
  override readonly name = 'ServiceWorkerError';
}

/** The browser's push service refused the subscription or did not answer. */
export class PushServiceError extends CarillonError {
  override readonly name = 'PushServiceError';
}

/** IndexedDB is closed to this page, so nothing can be kept. */
export class StorageError extends CarillonError {
  override readonly name = 'StorageError';
}
