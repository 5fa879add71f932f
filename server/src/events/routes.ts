// POST /v1/events.
import type { Caller } from '../apps/caller.ts';
import type { BoundRoute } from '../platform/http-server.ts';
import { noQuery, validate } from '../platform/validate.ts';
import { pathOfEvent, readEvents } from './read-events.ts';
import type { Track } from './track-events.ts';

export interface EventRouteDeps {
  readonly trackEvents: Track;
}

const bodyBytesMax = 1024 * 1024;

export function eventRoutes({ trackEvents }: EventRouteDeps): BoundRoute<Caller>[] {
  return [
    {
      method: 'POST',
      path: '/v1/events',
      access: 'client-or-server',
      bodyBytesMax,
      async handle({ caller, query, body }) {
        validate(noQuery, query);
        const isServer = caller.scope === 'server';
        const { accepted, duplicates } = await trackEvents({
          appId: caller.appId,
          isServer,
          clientEvents: caller.clientEvents,
          events: readEvents(body, isServer),
          pathOf: (index) => pathOfEvent(body, index),
        });
        return { accepted, duplicates };
      },
    },
  ];
}
