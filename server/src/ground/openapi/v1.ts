// The API under /v1, as its description introduces it. Describes only what this version does.
import type { ApiErrorCode } from '../http/api-error.ts';
import type { Api } from './document.ts';
import { refusalsOfV1 } from './refusals.ts';

const about = `Carillon is a self-hosted push notification service: one API that rings every device.

- Success is 200 with an object; a refusal has the same shape everywhere, and \`error\` says which it is.
- An unknown field or query parameter is 400. Null clears a stored value, removes an inherited one in \`content\`, and is an
  omission elsewhere. In answers an absent value is null.
- GET is also served as HEAD. An unknown path or a wrong method is 404.
- Endpoints for client keys, and the public ones under /v1, answer any browser origin, without credentials.
- Within /v1 later versions only add: a program ignores fields, warnings and skip reasons it does not know. These sets
  are closed: HTTP statuses, values of \`error\`, codes of issues, error codes of deliveries, and statuses of messages and
  deliveries.`;

/** Headers of every answer to a key whose plan has a limit, once the request was counted. */
const counted = {
  'ratelimit-policy': { $ref: '#/components/headers/RateLimitPolicy' },
  ratelimit: { $ref: '#/components/headers/RateLimit' },
};

const refusalsOfKeyed: readonly ApiErrorCode[] = [
  ...(['missing_key', 'invalid_key', 'app_suspended', 'wrong_key_scope'] as const),
  ...(['rate_limited', 'unavailable'] as const),
];

export const v1: Api = {
  info: {
    title: 'Carillon',
    version: '1',
    summary: 'One API that rings every device.',
    description: about,
    license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: '/', description: 'Where this description is served.' }],
  securitySchemes: {
    serverKey: { type: 'http', scheme: 'bearer', description: 'A server key, `sk_live_…`. It stays on servers.' },
    clientKey: { type: 'http', scheme: 'bearer', description: 'A client key, `ck_live_…`, for apps and pages.' },
  },
  access: {
    server: { security: [{ serverKey: [] }], refusals: refusalsOfKeyed },
    'client-or-server': { security: [{ serverKey: [] }, { clientKey: [] }], refusals: refusalsOfKeyed },
    public: { security: [], refusals: [] },
  },
  refusals: refusalsOfV1,
  headers: {
    RateLimitPolicy: {
      description: 'On plans with a limit: `"key";q=10;w=1` are 10 requests per second of this key.',
      required: false,
      schema: { type: 'string' },
    },
    RateLimit: {
      description:
        'On plans with a limit: `"key";r=9;t=1` means that 9 requests are left, and all 10 again in one second.',
      required: false,
      schema: { type: 'string' },
    },
  },
  counted,
};
