// Opting out: stored here at once, told to the service as soon as it answers. A later opt-out never
// replaces an earlier one.
import { changeBrowser, findBrowser } from './device-id.ts';
import { ApiError } from './errors.ts';
import { callApi, type Service } from './transport.ts';

/**
 * Above this the oldest is dropped. The push service reports its subscription as gone, which
 * retires the device.
 */
const removalsMax = 20;

/** Records that this browser is no device any more, whether or not the service knows. */
export async function rememberOptOut(scope: string, service: Service): Promise<void> {
  await changeBrowser(scope, service, ({ deviceId, removals, identifiedAs }) => ({
    deviceId: null,
    token: null,
    identity: null,
    isOptedOut: true,
    ...(deviceId !== null && {
      // The link must end with the device, but only once the service has been told.
      identifiedAs: identifiedAs && { deviceId, identity: '' },
      removals: [...removals.filter((id) => id !== deviceId), deviceId].slice(-removalsMax),
    }),
  }));
}

/**
 * Tells the service of the waiting opt-outs; needs the lock of the scope. An unknown device counts
 * as told. A refused opt-out does not block the others; its error is thrown at the end.
 */
export async function finishRemovals(scope: string, service: Service): Promise<void> {
  let refused: unknown;
  for (const removal of (await findBrowser(scope))?.removals ?? []) {
    try {
      await callApi(service, { method: 'DELETE', path: `/v1/devices/${encodeURIComponent(removal)}` });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status !== 404) {
        refused = error;
        continue;
      }
    }
    await changeBrowser(scope, service, ({ removals, identifiedAs }) => ({
      removals: removals.filter((id) => id !== removal),
      identifiedAs: identifiedAs?.deviceId === removal ? null : identifiedAs,
    }));
  }
  if (refused) throw refused;
}
