// GET /v1/config: what a client app needs to know before it registers.
import type { Sql } from '../platform/db.ts';
import type { Route } from '../platform/http-server.ts';
import { noQuery, validate } from '../platform/validate.ts';
import type { Caller } from './caller.ts';
import { listCurrentCredentials } from './queries.ts';

export function configRoutes({ sql }: { sql: Sql }): Route<Caller>[] {
  return [
    {
      method: 'GET',
      path: '/v1/config',
      access: 'client-or-server',
      async handle({ caller, query }) {
        validate(noQuery, query);
        const current = await listCurrentCredentials(sql, caller.appId);
        const webpush = current.find(({ channel }) => channel === 'webpush');
        return {
          vapid_public_key: webpush?.public['publicKey'] ?? null,
          // An identify secret is made by the operator; until an app has one, nothing is demanded.
          identify_required: false,
          identify_bound_required: false,
          channels: current.map(({ channel }) => channel),
        };
      },
    },
  ];
}
