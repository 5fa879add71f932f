// POST /v1/receipts and GET /v1/r/{token}: the device answers. Public: the signed token is the credential, and it authorises
// marks on one delivery and nothing else.
import { z } from 'zod';
import type { MessageLedger } from '../delivery/message-ledger.ts';
import type { ReceiptKeys } from '../delivery/receipt-keys.ts';
import { openReceiptToken, type ReceiptSubject } from '../delivery/receipt-token.ts';
import { type ApiError, notFound } from '../platform/api-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import { Answer, type BoundRoute } from '../platform/http-server.ts';
import { noQuery, validate } from '../platform/validate.ts';
import type { AddressLimits } from '../quotas/address-limit.ts';
import type { OutboxTeller } from '../webhooks/tell-outbox.ts';
import { findTarget } from './find-target.ts';
import { recordReceipt } from './record-receipt.ts';

export interface ReceiptRouteDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly ledger: MessageLedger;
  readonly outbox: OutboxTeller;
  /** Every key that tokens may be signed with, newest first. */
  readonly receiptKeys: Pick<ReceiptKeys, 'verifying'>;
  readonly addressLimits: AddressLimits;
}

export const receiptSchema = z
  .strictObject({
    token: z.string(),
    event: z.enum(['displayed', 'clicked', 'dismissed']),
    action: z.string().max(64).nullish(),
  })
  .superRefine((receipt, ctx) => {
    if (receipt.action === undefined || receipt.action === null || receipt.event === 'clicked') return;
    const params = { code: 'invalid_value' };
    ctx.addIssue({ code: 'custom', path: ['action'], params, message: 'action goes with the event clicked only.' });
  });

export function receiptRoutes<Caller>(deps: ReceiptRouteDeps): BoundRoute<Caller>[] {
  return [
    {
      method: 'POST',
      path: '/v1/receipts',
      access: 'public',
      // A service worker sends text/plain, which needs no preflight.
      alsoJson: ['text/plain'],
      async handle({ body, query, address }) {
        validate(noQuery, query);
        const receipt = validate(receiptSchema, body);
        const subject = readToken(deps, receipt.token, address);
        const recorded = await recordReceipt(deps, subject, receipt.event, receipt.action ?? null);
        if (recorded === undefined) throw unknownToken();
        return { recorded };
      },
    },
    {
      method: 'GET',
      path: '/v1/r/:token',
      access: 'public',
      ignoresUnknownQuery: true,
      async handle({ params, query, method, address }) {
        const subject = readToken(deps, params['token'] ?? '', address);
        const action = query['a'] ?? null;
        const target = await findTarget(deps, subject, action);
        if (target === undefined) throw unknownToken();
        // HEAD asks where a click would lead; only GET is one.
        if (method === 'GET' && (await recordReceipt(deps, subject, 'clicked', action)) === undefined)
          throw unknownToken();
        return new Answer(302, {
          location: new URL(target).href,
          'cache-control': 'no-store',
          'referrer-policy': 'no-referrer',
        });
      },
    },
  ];
}

// A token that does not verify counts against its sender's address, one that does against itself: whoever sends it, the
// database sees so many requests of it and no more.
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
