// Sends a test to the browser of the person who composes: a client key of their session, the SDK
// and its worker. The browser is a device of the app only during the test.

import { call } from '../../api/client.ts';
import type { Content } from '../../api/objects.ts';

/** A push service answers within seconds; after that the person should look for a reason. */
const shownWithinMs = 20_000;

export type OwnBrowserResult = 'displayed' | 'sent' | 'not_sent';

/** Throws what the SDK or the service throws; its message is in words. */
export async function sendToOwnBrowser(app: string, content: Content): Promise<OwnBrowserResult> {
  // This comes first, because browsers require a recent click.
  if ('Notification' in window && Notification.permission === 'default') await Notification.requestPermission();
  const [{ createCarillon }, { key }] = await Promise.all([
    import('../../../../web/src/index.ts'),
    call('createSessionKey', { app }),
  ]);
  const carillon = createCarillon({
    baseUrl: window.location.origin,
    clientKey: key,
    serviceWorkerUrl: `${import.meta.env.BASE_URL}carillon-sw.js`,
    onError: () => undefined,
  });
  const { id } = await carillon.subscribe();
  let isOver = () => {};
  const displayed = new Promise<boolean>((resolve) => {
    const stop = carillon.onPush(({ kind }) => kind === 'displayed' && resolve(true));
    const timer = setTimeout(() => resolve(false), shownWithinMs);
    isOver = () => {
      stop();
      clearTimeout(timer);
      resolve(false);
    };
  });
  try {
    const answer = await call('sendMessage', {
      app,
      body: { audience: { device_ids: [id] }, content, name: 'Test' },
    });
    const isSent = 'report' in answer && answer.report.sent > 0;
    if (!isSent) return 'not_sent';
    return (await displayed) ? 'displayed' : 'sent';
  } finally {
    isOver();
    // Otherwise the next message to everybody would also reach this browser.
    await carillon.unsubscribe().catch(() => undefined);
  }
}
