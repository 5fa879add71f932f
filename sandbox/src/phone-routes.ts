// The control port's routes for phones: make and remove phones, issue and revoke sender keys.
import {
  documentItemsMax,
  type Route,
  readJson,
  sendError,
  sendJson,
  sendNothing,
  wantsLines,
} from './control-http.ts';
import { InputError } from './json-input.ts';
import { parseDevices, presentPhonePool, presentServiceAccount, presentTeamKey } from './phone-json.ts';
import type { PhoneNetwork } from './phone-network.ts';
import { writeLines } from './write-lines.ts';

export function phoneRoutes(network: PhoneNetwork): Route[] {
  const { phones, keys } = network;
  return [
    [
      'POST',
      /^\/devices$/,
      async ({ request, response }) => {
        const { pool, count, from } = parseDevices(await readJson(request));
        const tokens = phones.make(pool, count, from);
        if (wantsLines(request)) {
          const headers = { 'content-type': 'application/x-ndjson', 'sandbox-seed': encodeURIComponent(pool.seed) };
          response.writeHead(201, headers);
          return writeLines(response, presentAll(tokens, pool.platform));
        }
        if (count > documentItemsMax) {
          throw new InputError('count', `more than ${documentItemsMax} only as application/x-ndjson`);
        }
        const devices = [...presentAll(tokens, pool.platform)];
        sendJson(response, 201, { pool: presentPhonePool(pool), devices });
      },
    ],
    [
      'DELETE',
      /^\/devices\/([A-Za-z0-9_:%-]+)$/,
      ({ response, part }) =>
        network.uninstall(decodeURIComponent(part)) ? sendNothing(response) : sendError(response, 404, 'no such phone'),
    ],
    [
      'GET',
      /^\/credentials$/,
      ({ response }) => {
        const { teamKeys, serviceAccounts } = keys.kept();
        sendJson(response, 200, {
          apns_keys: teamKeys.map(presentTeamKey),
          service_accounts: serviceAccounts.map(presentServiceAccount),
        });
      },
    ],
    [
      'POST',
      /^\/apns\/keys$/,
      async ({ request, response }) => {
        const { key, p8 } = network.registerTeamKey(await readJson(request));
        sendJson(response, 201, { ...presentTeamKey(key), p8 });
      },
    ],
    [
      'DELETE',
      /^\/apns\/keys\/([A-Z0-9]+)$/,
      ({ response, part }) =>
        keys.removeTeamKey(part) ? sendNothing(response) : sendError(response, 404, 'no such key'),
    ],
    [
      'POST',
      /^\/fcm\/service-accounts$/,
      async ({ request, response }) => {
        const file = network.createServiceAccount(await readJson(request));
        sendJson(response, 201, file);
      },
    ],
    [
      'DELETE',
      /^\/fcm\/service-accounts\/([^/]+)$/,
      ({ response, part }) =>
        keys.removeServiceAccount(decodeURIComponent(part))
          ? sendNothing(response)
          : sendError(response, 404, 'no such service account'),
    ],
  ];
}

/** Bodies for `POST /v1/devices`: platform and token, and nothing else. */
function* presentAll(tokens: Iterable<string>, platform: string): Generator<{ platform: string; token: string }> {
  for (const token of tokens) yield { platform, token };
}
