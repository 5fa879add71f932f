// Opting out: remembered here at once, told to the service as soon as it listens. No opt-out is lost to a later one.
import { changeBrowser, findBrowser } from './device-id.ts';
import { ApiError } from './errors.ts';
import { callApi, type Service } from './transport.ts';

/** Beyond this the oldest is left to the push service, which calls its subscription gone. */
const removalsMax = 20;

/** This browser is no device any more, whether or not the service has heard of it. */
export async function rememberOptOut(scope: string, service: Service): Promise<void> {
  await changeBrowser(scope, service, ({ deviceId, removals, identifiedAs }) => ({
    deviceId: null,
    token: null,
    identity: null,
    isOptedOut: true,
    ...(deviceId !== null && {
      // The link goes with the device, but only once the service has heard of it.
      identifiedAs: identifiedAs && { deviceId, identity: '' },
      removals: [...removals.filter((id) => id !== deviceId), deviceId].slice(-removalsMax),
    }),
  }));
}

/**
 * Tells the service of the opt-outs that wait; needs the lock of the scope. A device it does not know is one it has
 * forgotten already. One that it refuses does not hold up the others; its error is thrown at the end.
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
