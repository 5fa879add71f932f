// The steps of an explanation, in the order of contract 5.22, as answers show them. The step
// `message` is present only when it is not ok.
import { z } from 'zod';
import { component, count, deviceId, instant, segmentId } from '../../ground/http/schemas.ts';
import { deviceStatuses, invalidReason } from '../../people/devices/device.ts';
import { channelIds } from '../../sending/channels/channel.ts';
import { deliveryCode, deliveryStatuses } from '../../sending/delivery/delivery.ts';

/** Why a device was not tried yet. */
export const turnReasons = ['paused', 'not_due', 'under_way', 'provider', 'setback', 'rate', 'queued'] as const;
export type TurnReason = (typeof turnReasons)[number];

/** A reason that selects or excludes a device. */
export const selectionReasons = [
  'not_listed',
  'segment_gone',
  'filter_invalid',
  'registered_later',
  'changed_since',
] as const;

const selection = {
  path: z.array(z.union([z.string(), z.int()])).optional(),
  segment: z.strictObject({ id: segmentId, name: z.string() }).optional(),
  field: z.string().optional(),
  event: z.string().optional(),
  op: z.string().optional(),
  value: z.unknown().optional(),
  actual: z.unknown().optional().describe('The value now; null: none. For events their count.'),
  last_at: z.string().optional().describe('The latest of the counted events.'),
  under_not: z.literal(true).optional().describe('The leaf is under a NOT, which reverses it.'),
  reason: z.enum(selectionReasons).optional(),
  queued_at: instant.optional().describe('When the delivery was made. The delivery decides.'),
  as_of: z.literal('now').optional().describe('Checked against the present data, which may have changed since.'),
};

const ok = z.boolean();
export const step = component(
  'ExplainStep',
  z.discriminatedUnion('step', [
    z.strictObject({
      step: z.literal('message'),
      ok,
      detail: z.strictObject({
        status: z.enum(['scheduled', 'sending', 'sent', 'failed', 'canceled']),
        status_reason: z.string().nullable(),
        run_at: instant.nullable(),
        started_at: instant.nullable(),
        finished_at: instant.nullable(),
      }),
    }),
    z.strictObject({
      step: z.literal('user'),
      ok,
      detail: z.strictObject({
        external_id: z.string().nullable().optional().describe('The user of the device now.'),
        created_at: instant.nullable(),
      }),
    }),
    z.strictObject({
      step: z.literal('devices'),
      ok,
      detail: z.strictObject({
        active: count.optional(),
        invalid: count.optional(),
        unsubscribed: count.optional(),
        status: z.enum(deviceStatuses).nullable().optional(),
        status_reason: invalidReason.nullable().optional(),
        device_id: deviceId.optional(),
        error_code: deliveryCode.optional(),
      }),
    }),
    z.strictObject({ step: z.literal('audience'), ok, detail: z.strictObject(selection) }),
    z.strictObject({ step: z.literal('excluded'), ok, detail: z.strictObject(selection) }),
    z.strictObject({
      step: z.literal('channel'),
      ok,
      detail: z.strictObject({
        channel: z.enum(channelIds),
        credential: z.enum(['ok', 'suspect', 'failing', 'missing']),
      }),
    }),
    z.strictObject({
      step: z.literal('turn'),
      ok,
      detail: z.strictObject({
        queued_at: instant,
        reason: z.enum([...turnReasons, 'local_time_past']).optional(),
        until: instant.optional(),
        per_second: z.int().min(1).optional(),
      }),
    }),
    z.strictObject({
      step: z.literal('attempts'),
      ok,
      detail: z.strictObject({
        status: z.enum(deliveryStatuses),
        error_code: deliveryCode.nullable(),
        meaning: z.string().nullable(),
        action: z.string().nullable().describe('The next step for the operator, in words.'),
        attempts: count,
        http_status: z.int().nullable(),
        done_at: instant,
        retry_at: instant.nullable(),
      }),
    }),
    z.strictObject({
      step: z.literal('receipt'),
      ok,
      detail: z.strictObject({
        displayed: z.enum(['yes', 'no', 'unknown']).describe('`unknown`: the platform reports none by itself.'),
        displayed_at: instant.nullable(),
        clicked_at: instant.nullable(),
        dismissed_at: instant.nullable(),
        action: z.string().nullable().describe('The button of the first click.'),
      }),
    }),
  ]),
);
export type Step = Readonly<z.output<typeof step>>;
export type DetailOf<Name extends Step['step']> = Extract<Step, { step: Name }>['detail'];
