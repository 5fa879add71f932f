// GET /v1/channels: public, the channels the service supports.

import type { Route } from '../platform/http-server.ts';
import { noQuery, validate } from '../platform/validate.ts';
import { channels } from './channels.ts';

export function channelRoutes<Caller>(): Route<Caller>[] {
  return [
    {
      method: 'GET',
      path: '/v1/channels',
      access: 'public',
      async handle({ query }) {
        validate(noQuery, query);
        return {
          channels: channels.map(({ id, platform, name, payloadBytesMax }) => ({
            id,
            platform,
            name,
            max_payload_bytes: payloadBytesMax,
          })),
        };
      },
    },
  ];
}
