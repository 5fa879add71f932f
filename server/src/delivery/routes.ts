// GET /v1/messages/{id}/deliveries: per device, what happened, with every attempt and the provider's raw answer.
import { z } from 'zod';
import type { Caller } from '../apps/caller.ts';
import { channelIds } from '../channels/channel.ts';
import { errorCodes } from '../channels/error-code.ts';
import { noSuch } from '../platform/api-error.ts';
import type { ApiRequest, BoundRoute } from '../platform/http-server.ts';
import { decodeId, encodeId, type Uuid } from '../platform/ids.ts';
import { type Cursors, limitField, toPage } from '../platform/page.ts';
import { validate } from '../platform/validate.ts';
import { deliveryStatuses, skipReasons } from './delivery.ts';
import { type MessageOutcomes, mayHold } from './delivery-kinds.ts';
import {
  listMessageDeliveries,
  presentDeliveries,
  rowsReadMax,
  type TimelineDeps,
  type TimelinePart,
} from './list-timeline.ts';

export interface DeliveryRouteDeps extends TimelineDeps {
  readonly cursors: Cursors;
  /** The message's status and numbers as its own page shows them; undefined: there is none in this app. */
  readonly findMessageState: (
    appId: Uuid,
    messageId: Uuid,
  ) => Promise<{ status: string; report: object; outcomes: MessageOutcomes } | undefined>;
}

/** Before every device of a batch. */
const noDevice: Uuid = '00000000-0000-0000-0000-000000000000';
const nothing: TimelinePart = { placed: [], stoppedBefore: null };

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

export function deliveryRoutes(deps: DeliveryRouteDeps): BoundRoute<Caller>[] {
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
  if (!state || messageId === undefined) throw noSuch('message', params['id'] ?? '');

  const deviceId = filters.device_id === undefined ? null : decodeId('dev', filters.device_id);
  const kind = {
    status: filters.status ?? null,
    channel: filters.channel ?? null,
    code: filters.error_code ?? null,
  };
  const { outcomes, ...shown } = state;
  const { placed, stoppedBefore } =
    deviceId === undefined || !mayHold(kind, outcomes)
      ? nothing
      : await listMessageDeliveries(
          deps,
          messageId,
          { kind, deviceId },
          position ? { batchId: String(position[0]), deviceId: String(position[1]) } : null,
          limit + 1,
          rowsReadMax,
        );
  const page = toPage(
    placed,
    limit,
    (one) => one,
    ({ row }) => deps.cursors.write([row.batchId, row.deviceId], scope),
  );
  return {
    message_id: encodeId('msg', messageId),
    ...shown,
    data: await presentDeliveries(deps, caller.appId, page.data),
    has_more: page.has_more || stoppedBefore !== null,
    next_cursor: stoppedBefore === null ? page.next_cursor : deps.cursors.write([stoppedBefore, noDevice], scope),
  };
}
