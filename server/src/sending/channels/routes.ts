// GET /v1/channels: public, the channels the service supports.
import { z } from 'zod';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component, exampleOf } from '../../ground/http/schemas.ts';
import { channelIds, platforms } from './channel.ts';
import { channels } from './channels.ts';

export interface ChannelRouteDeps {
  readonly addressLimits: {
    /** Throws the 429 where an address asks too often. */
    admitAnonymous(address: string): void;
  };
}

const channelList = component(
  'ChannelList',
  z.strictObject({
    channels: z.array(
      z.strictObject({
        id: z.enum(channelIds),
        platform: z.enum(platforms),
        name: z.string(),
        max_payload_bytes: z.int().min(1),
      }),
    ),
  }),
  {
    channels: channels.map(({ payloadBytesMax: max_payload_bytes, ...named }) => ({ ...named, max_payload_bytes })),
  },
);

const route = routesWith<ChannelRouteDeps, unknown>({ tag: 'Service', access: 'public' });

export const channelRoutes = [
  route('listChannels', 'GET /v1/channels', {
    summary: 'List the channels',
    answers: ok('All channels, without pages.', channelList),
    refusals: ['rate_limited', 'unavailable'],
    // Malformed requests count too.
    within({ addressLimits }, { address }, work) {
      addressLimits.admitAnonymous(address);
      return work();
    },
  }).handle(async () => exampleOf(channelList)),
];
