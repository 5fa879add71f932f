// All errors of the SDK, each a class with the facts that a page needs to react. Names are set by
// hand because minifying renames classes.

/** One rejected field of a request, as the service names it (contract 2). */
export interface Issue {
  readonly path: readonly (string | number)[];
  readonly code: string;
  readonly message: string;
}

/** The base class of all errors of this SDK. */
export class CarillonError extends Error {
  override readonly name: string = 'CarillonError';
}

/** The service answered with an error; `message` is its own text. */
export class ApiError extends CarillonError {
  override readonly name = 'ApiError';
  readonly status: number;
  /**
   * The service's code, such as `invalid_key` or `rate_limited`; `invalid_answer` when the answer
   * was not the API's JSON.
   */
  readonly error: string;
  /** The rejected fields of a 400; otherwise empty. */
  readonly issues: readonly Issue[];
  /** The place in the request that a 403 refuses; null when the answer names none. */
  readonly path: Issue['path'] | null;
  /** The id to quote to the service's operator; null when the answer had none. */
  readonly requestId: string | null;
  /** How long to wait before the next try; null when the service did not say. */
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

/** This browser has no web push, or not in this context. */
export class UnsupportedBrowserError extends CarillonError {
  override readonly name = 'UnsupportedBrowserError';
  /** True on an iPhone or iPad, where push works once the site is added to the Home Screen. */
  readonly needsHomeScreen: boolean;

  constructor(message: string, needsHomeScreen: boolean) {
    super(message);
    this.needsHomeScreen = needsHomeScreen;
  }
}

/**
 * The page was loaded over plain http from another machine. Browsers allow no service worker there.
 */
export class InsecureContextError extends CarillonError {
  override readonly name = 'InsecureContextError';
}

/** The person refused, or closed the question without an answer. */
export class PermissionDeniedError extends CarillonError {
  override readonly name = 'PermissionDeniedError';
  /**
   * `denied`: only the person can undo it, in the browser's settings. `default`: the page may ask
   * again later.
   */
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

/**
 * The worker script could not be installed: it was not found, is not JavaScript, is outside its
 * scope, or failed at its start.
 */
export class ServiceWorkerError extends CarillonError {
  override readonly name = 'ServiceWorkerError';
}

/** The browser's push service refused the subscription or did not answer. */
export class PushServiceError extends CarillonError {
  override readonly name = 'PushServiceError';
}

/** This page may not use IndexedDB, so nothing can be stored. */
export class StorageError extends CarillonError {
  override readonly name = 'StorageError';
}
