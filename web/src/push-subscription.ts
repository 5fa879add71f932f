// The browser's side of a subscription, for page and worker alike: the one it has, or a new one for the current key.
// Speaks to the browser's push service and never to ours.
import { PushServiceError } from './errors.ts';

/** The first subscription of a browser waits for its push service to start, which takes seconds; some never answer. */
const subscribeTimeoutMs = 60_000;

/** The VAPID public key a subscription was made with, base64url; null where the browser does not say. */
export function keyOf(subscription: PushSubscription): string | null {
  const key = subscription.options?.applicationServerKey;
  return key ? toBase64Url(new Uint8Array(key)) : null;
}

/**
 * Answers the present subscription where it was made with this key, else a new one. A subscription is bound to its key
 * for life and `subscribe` refuses another with InvalidStateError, so the old one is given up first (RFC 8292 4.2).
 */
export async function subscriptionFor(manager: PushManager, vapidPublicKey: string): Promise<PushSubscription> {
  const present = await manager.getSubscription();
  if (present && keyOf(present) === vapidPublicKey) return present;
  await present?.unsubscribe();
  try {
    return await subscribeNow(manager, vapidPublicKey);
  } catch (error) {
    // Another tab or the worker may have subscribed in between, or the browser holds one it did not show.
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
