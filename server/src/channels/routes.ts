// GET /v1/channels: public, the channels the service supports.

import { z } from 'zod';
import type { Route } from '../platform/http-server.ts';
import { validate } from '../platform/validate.ts';
import { channels } from './channels.ts';

export function channelRoutes<Caller>(): Route<Caller>[] {
  return [
    {
      method: 'GET',
      path: '/v1/channels',
      access: 'public',
      async handle({ query }) {
        validate(z.strictObject({}), query);
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
