// The browser's part of a subscription, for page and worker: the existing one, or a new one for the
// current key. It calls the browser's push service and never Carillon.
import { PushServiceError } from './errors.ts';

/**
 * The first subscription of a browser waits seconds for its push service to start. Some never
 * answer.
 */
const subscribeTimeoutMs = 60_000;

/**
 * The VAPID public key that a subscription was made with, in base64url; null when the browser does
 * not tell.
 */
export function keyOf(subscription: PushSubscription): string | null {
  const key = subscription.options?.applicationServerKey;
  return key ? toBase64Url(new Uint8Array(key)) : null;
}

/**
 * Returns the existing subscription if it was made with this key, else a new one. A subscription is
 * bound to its key for life, and `subscribe` refuses another key with InvalidStateError, so the old
 * one is ended first (RFC 8292 4.2).
 */
export async function subscriptionFor(manager: PushManager, vapidPublicKey: string): Promise<PushSubscription> {
  const present = await manager.getSubscription();
  if (present && keyOf(present) === vapidPublicKey) return present;
  await present?.unsubscribe();
  try {
    return await subscribeNow(manager, vapidPublicKey);
  } catch (error) {
    // Another tab or the worker may have subscribed meanwhile, or the browser has one that it did
    // not show.
    if (!(error instanceof DOMException && error.name === 'InvalidStateError')) throw refused(error);
  }
  const other = await manager.getSubscription();
  await other?.unsubscribe();
  return subscribeNow(manager, vapidPublicKey).catch((error) => {
    throw refused(error);
  });
}

async function subscribeNow(manager: PushManager, vapidPublicKey: string): Promise<PushSubscription> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new PushServiceError('The push service did not answer.')), subscribeTimeoutMs);
  });
  const subscribed = manager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: fromBase64Url(vapidPublicKey),
  });
  return Promise.race([subscribed, tooLate]).finally(() => clearTimeout(timer));
}

function refused(cause: unknown): PushServiceError {
  if (cause instanceof PushServiceError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new PushServiceError(`The browser's push service refused: ${reason}`, { cause });
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
