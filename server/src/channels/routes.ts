// GET /v1/channels: public, the channels the service supports.

import type { BoundRoute } from '../platform/http-server.ts';
import { noQuery, validate } from '../platform/validate.ts';
import { channels } from './channels.ts';

export interface ChannelRouteDeps {
  /** Throws the 429 where an address asks too often. */
  admitAnonymous(address: string): void;
}

export function channelRoutes<Caller>({ admitAnonymous }: ChannelRouteDeps): BoundRoute<Caller>[] {
  return [
    {
      method: 'GET',
      path: '/v1/channels',
      access: 'public',
      async handle({ query, address }) {
        admitAnonymous(address);
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
