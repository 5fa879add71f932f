// GET /v1/config: what a client app needs to know before it registers.
import type { Sql } from '../platform/db.ts';
import type { BoundRoute } from '../platform/http-server.ts';
import { noQuery, validate } from '../platform/validate.ts';
import type { Caller } from './caller.ts';
import { getIdentifyRecord } from './identify-queries.ts';
import { listCurrentCredentials } from './queries.ts';

export function configRoutes({ sql }: { sql: Sql }): BoundRoute<Caller>[] {
  return [
    {
      method: 'GET',
      path: '/v1/config',
      access: 'client-or-server',
      async handle({ caller, query }) {
        validate(noQuery, query);
        const [current, identify] = await Promise.all([
          listCurrentCredentials(sql, caller.appId),
          getIdentifyRecord(sql, caller.appId),
        ]);
        const webpush = current.find(({ channel }) => channel === 'webpush');
        return {
          vapid_public_key: webpush?.public['publicKey'] ?? null,
          identify_required: identify.secret !== null,
          identify_bound_required: identify.isBoundRequired,
          channels: current.map(({ channel }) => channel),
        };
      },
    },
  ];
}
