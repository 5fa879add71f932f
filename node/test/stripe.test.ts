// The signature scheme is the one of Stripe's own library. That library must accept and refuse the
// same vectors as ours.
import Stripe from 'stripe';
import { describe, expect, it } from 'vitest';
import { signWebhook } from '../src/verify-webhook.ts';
import { vectors } from './vectors.ts';

const { webhook } = vectors;
const { webhooks } = new Stripe('sk_test_none');
const tolerance = webhook.tolerance_seconds;

function verifyAsStripe(body: string, header: string, secret: string, nowSeconds: number): unknown {
  return webhooks.constructEvent(body, header, secret, tolerance, undefined, nowSeconds * 1000);
}

describe('R-20 the verifier of stripe', () => {
  it.each(webhook.valid)('takes $name, header passed through', ({ body, signature, secrets, t }) => {
    for (const secret of secrets) expect(verifyAsStripe(body, signature, secret, t)).toEqual(JSON.parse(body));
  });

  // Stripe's library only rejects old timestamps.
  it.each(webhook.invalid.filter(({ name }) => name !== '301 seconds early'))('refuses $name', (request) => {
    const { body, signature, secret, now } = request;
    expect(() => verifyAsStripe(body, signature, secret, now)).toThrow();
  });

  it('accepts what signWebhook signed, and verifyWebhook accepts what stripe signed', () => {
    const [{ body, secrets }] = webhook.valid;
    const [secret = ''] = secrets;
    const nowSeconds = 1_800_000_000;
    const header = signWebhook(body, secret, { nowMs: nowSeconds * 1000 });
    expect(verifyAsStripe(body, header, secret, nowSeconds)).toEqual(JSON.parse(body));
    const theirs = webhooks.generateTestHeaderString({ payload: body, secret, timestamp: nowSeconds });
    expect(header).toBe(theirs);
  });
});
