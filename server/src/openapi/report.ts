// The numbers of a message, as two answers show them.
import { z } from 'zod';
import { messageStatuses } from '../messages/message.ts';
import { component, count } from '../platform/schemas.ts';

export const messageStatus = component('MessageStatus', z.enum(messageStatuses));

export const report = component(
  'Report',
  z.strictObject({
    accepted: count.describe('Deliveries made.'),
    sent: count.describe('A push service took the push.'),
    failed: count.describe('Ended without.'),
    skipped: count.describe('Deliberately not tried.'),
    pending: z.int().min(1).optional().describe('Only while some delivery is not final.'),
  }),
);
