// POST /v1/receipts and GET /v1/r/{token}: the device answers. Public: the signed token is the
// credential, and it authorises marks on one delivery and nothing else.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import type { Clock } from '../../ground/database/clock.ts';
import { type ApiError, notFound } from '../../ground/http/api-error.ts';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component, text } from '../../ground/http/schemas.ts';
import { Answer } from '../../ground/http/server.ts';
import type { AddressLimits } from '../../teams/quotas/address-limit.ts';
import type { Mark } from '../delivery/delivery.ts';
import type { MessageLedger } from '../delivery/message-ledger.ts';
import type { ReceiptKeys } from '../delivery/receipt-keys.ts';
import { openReceiptToken, type ReceiptSubject } from '../delivery/receipt-token.ts';
import type { OutboxTeller } from '../webhooks/tell-outbox.ts';
import { findTarget } from './find-target.ts';
import { recordReceipt } from './record-receipt.ts';

export interface ReceiptRouteDeps {
  /** For short transactions. */
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly ledger: MessageLedger;
  readonly outbox: OutboxTeller;
  /** Every key that tokens may be signed with, newest first. */
  readonly receiptKeys: Pick<ReceiptKeys, 'verifying'>;
  readonly addressLimits: AddressLimits;
}

const token = 'AgARIjNEVWZ3iJmqu8zd7v8B9I1KSRQLGRqsz7lIF2Ii8kw';
const actionField = text(64);

const receiptRequest = component(
  'ReceiptRequest',
  z
    .strictObject({
      token: z.string(),
      event: z.enum(['displayed', 'clicked', 'dismissed']),
      action: actionField.nullish(),
    })
    .superRefine((receipt, ctx) => {
      if (receipt.action === undefined || receipt.action === null || receipt.event === 'clicked') return;
      const params = { code: 'invalid_value' };
      ctx.addIssue({ code: 'custom', path: ['action'], params, message: 'action goes with the event clicked only.' });
    }),
  { token, event: 'clicked', action: 'open' },
);
const recordedReceipt = component(
  'RecordedReceipt',
  z.strictObject({ recorded: z.boolean().describe('False when that mark was set before.') }),
  { recorded: true },
);

const route = routesWith<ReceiptRouteDeps, unknown>({ tag: 'Receipts', access: 'public' });

export const receiptRoutes = [
  route('recordReceipt', 'POST /v1/receipts', {
    // A service worker sends text/plain, which needs no preflight.
    alsoJson: ['text/plain'],
    summary: 'Say that a notification was displayed, clicked or dismissed',
    description: 'Each mark is set once. `action` goes with `clicked` only.',
    body: receiptRequest,
    answers: ok('Recorded, now or before.', recordedReceipt),
    refusals: ['not_found', 'rate_limited', 'unavailable'],
  }).handle(async (deps, { body, address }) => {
    const subject = readToken(deps, body.token, address);
    const recorded = await record(deps, subject, body.event, body.action ?? null);
    return { recorded };
  }),
  route('openLink', 'GET /v1/r/:token', {
    ignoresUnknownQuery: true,
    summary: 'Count a click and redirect to its target',
    description: 'The target was stored with the delivery. Other query parameters are ignored. HEAD counts nothing.',
    params: { token: { description: 'The token of a delivery.', example: token } },
    query: z.object({ a: actionField.optional().describe('The button clicked.') }),
    // A sent link must lead to its target, even if something changed its query.
    readQuery: ({ a: action = null }) => ({ action }),
    answers: {
      302: {
        description: 'The target of the notification or of its button.',
        headers: { location: 'The address.', 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
      },
    },
    refusals: ['rate_limited', 'unavailable'],
  }).handle(async (deps, { params, query: { action }, method, address }) => {
    const subject = readToken(deps, params.token, address);
    const target = await findTarget({ sql: deps.txSql, ledger: deps.ledger }, subject, action);
    if (target === undefined) throw unknownToken();
    // HEAD only asks for the target of a click. A GET is a click.
    if (method === 'GET') await record(deps, subject, 'clicked', action);
    return new Answer(302, {
      location: new URL(target).href,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
  }),
];

/** Whether the mark is new. Throws the 404 when the delivery no longer exists. */
async function record(
  { txSql: sql, clock, ledger, outbox }: ReceiptRouteDeps,
  subject: ReceiptSubject,
  mark: Mark,
  action: string | null,
): Promise<boolean> {
  const recorded = await recordReceipt({ sql, clock, ledger, outbox }, subject, mark, action);
  if (recorded === undefined) throw unknownToken();
  return recorded;
}

// A token that does not verify counts against its sender's address. A valid token counts against
// itself, so that the database sees a limited number of requests for it from all senders together.
function readToken({ receiptKeys, addressLimits }: ReceiptRouteDeps, token: string, address: string): ReceiptSubject {
  const subject = openReceiptToken(receiptKeys.verifying, token);
  if (!subject) {
    addressLimits.admitAnonymous(address);
    throw unknownToken();
  }
  addressLimits.admitToken(token);
  return subject;
}

function unknownToken(): ApiError {
  return notFound('This token is of no delivery, or leads nowhere.');
}
