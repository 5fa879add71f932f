// What a device answers, as the API's description tells it. The token is the credential.
import { z } from 'zod';
import { component } from '../platform/schemas.ts';
import { receiptSchema } from '../receipts/routes.ts';
import type { Operation } from './operation-form.ts';

const receiptRequest = component('ReceiptRequest', receiptSchema);
const recordedReceipt = component(
  'RecordedReceipt',
  z.strictObject({ recorded: z.boolean().describe('False when that mark was set before.') }),
);

const token = 'AgARIjNEVWZ3iJmqu8zd7v8B9I1KSRQLGRqsz7lIF2Ii8kw';

export const receiptOperations: readonly Operation[] = [
  {
    id: 'recordReceipt',
    method: 'post',
    path: '/v1/receipts',
    tag: 'Receipts',
    summary: 'Say that a notification was displayed, clicked or dismissed',
    description: 'Each mark is set once. `action` goes with `clicked` only.',
    access: 'public',
    body: { schema: receiptRequest, example: { token, event: 'clicked', action: 'open' }, alsoAs: 'text/plain' },
    answers: { 200: { description: 'Known now.', schema: recordedReceipt, example: { recorded: true } } },
    refusals: [404, '429 rate', 503],
  },
  {
    id: 'openLink',
    method: 'get',
    path: '/v1/r/{token}',
    tag: 'Receipts',
    summary: 'Count a click and go where it leads',
    description: 'The target was stored with the delivery. Other query parameters are ignored. HEAD counts nothing.',
    access: 'public',
    pathParameters: { token: { description: 'The token of a delivery.', example: token } },
    query: z.object({ a: receiptSchema.shape.action.unwrap().unwrap().optional().describe('The button clicked.') }),
    answers: {
      302: {
        description: 'Where the notification, or its button, leads.',
        headers: { location: 'The address.', 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
      },
    },
    refusals: [404, '429 rate', 503],
  },
];
