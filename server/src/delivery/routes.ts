// GET /v1/messages/{id}/deliveries: per device, what happened, with every attempt and the provider's raw answer.
import { z } from 'zod';
import type { Caller } from '../apps/caller.ts';
import { channelIds } from '../channels/channel.ts';
import { errorCodes } from '../channels/error-code.ts';
import { notFound } from '../platform/api-error.ts';
import type { ApiRequest, Route } from '../platform/http-server.ts';
import { decodeId, encodeId, type Uuid } from '../platform/ids.ts';
import { type Cursors, limitField, toPage } from '../platform/page.ts';
import { validate } from '../platform/validate.ts';
import { channelNumber, deliveryStatuses, numbersOfCode, skipReasons, statusNumber } from './delivery.ts';
import { listMessageDeliveries, presentDeliveries, type TimelineDeps } from './list-timeline.ts';

export interface DeliveryRouteDeps extends TimelineDeps {
  readonly cursors: Cursors;
  /** The message's status and numbers as its own page shows them; undefined: there is none in this app. */
  readonly findMessageState: (appId: Uuid, messageId: Uuid) => Promise<{ status: string; report: object } | undefined>;
}

// `not_configured` is a failure and a skip reason: one word in the closed set.
const codes = [...new Set([...errorCodes, ...skipReasons])] as [string, ...string[]];

export const deliveryListQuery = z.strictObject({
  limit: limitField(500),
  cursor: z.string().optional(),
  status: z.enum(deliveryStatuses).optional(),
  channel: z.enum(channelIds).optional(),
  device_id: z.string().optional(),
  error_code: z.enum(codes).optional(),
});

export function deliveryRoutes(deps: DeliveryRouteDeps): Route<Caller>[] {
  return [
    {
      method: 'GET',
      path: '/v1/messages/:id/deliveries',
      access: 'server',
      handle: (request) => getDeliveries(deps, request),
    },
  ];
}

async function getDeliveries(deps: DeliveryRouteDeps, { caller, params, query }: ApiRequest<Caller>): Promise<object> {
  const { limit, cursor, ...filters } = validate(deliveryListQuery, query);
  const messageId = decodeId('msg', params['id'] ?? '');
  const scope = [caller.appId, 'deliveries', messageId ?? null, filters];
  const position = cursor === undefined ? undefined : deps.cursors.read(cursor, scope);
  const state = messageId === undefined ? undefined : await deps.findMessageState(caller.appId, messageId);
  if (!state || messageId === undefined) throw notFound();

  const deviceId = filters.device_id === undefined ? null : decodeId('dev', filters.device_id);
  const placed =
    deviceId === undefined
      ? []
      : await listMessageDeliveries(
          deps,
          messageId,
          {
            status: filters.status === undefined ? null : statusNumber(filters.status),
            channel: filters.channel === undefined ? null : channelNumber(filters.channel),
            deviceId,
            errorNumbers: filters.error_code === undefined ? null : numbersOfCode(filters.error_code),
          },
          position ? { batchId: String(position[0]), deviceId: String(position[1]) } : null,
          limit + 1,
        );
  const page = toPage(
    placed,
    limit,
    (one) => one,
    ({ row }) => deps.cursors.write([row.batchId, row.deviceId], scope),
  );
  return {
    message_id: encodeId('msg', messageId),
    ...state,
    data: await presentDeliveries(deps, caller.appId, page.data),
    has_more: page.has_more,
    next_cursor: page.next_cursor,
  };
}
