import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { signWebhook, verifyWebhook, WebhookVerificationError } from '../src/verify-webhook.ts';
import { vectors } from './vectors.ts';

const { webhook } = vectors;
const [sent] = webhook.valid;
const secret = webhook.secrets.new;
const nowMs = sent.t * 1000;

function refusalOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.reason;
    throw error;
  }
  return 'none';
}

describe('R-20 verifyWebhook', () => {
  it.each(webhook.valid)(
    'accepts $name under each of its secrets, as text and as bytes',
    ({ body, signature, secrets, t }) => {
      for (const one of secrets) {
        const event = verifyWebhook(body, signature, one, { nowMs: t * 1000 });
        expect(event).toEqual(JSON.parse(body));
        expect(verifyWebhook(Buffer.from(body), signature, one, { nowMs: t * 1000 })).toEqual(event);
      }
    },
  );

  it.each(webhook.invalid)('refuses $name: $reason', ({ body, signature, secret: one, now, reason }) => {
    expect(refusalOf(() => verifyWebhook(body, signature, one, { nowMs: now * 1000 }))).toBe(reason);
  });

  it('accepts either secret during a rotation, whichever signed', () => {
    const { old } = webhook.secrets;
    for (const { body, signature } of webhook.valid) {
      expect(verifyWebhook(body, signature, [secret, old], { nowMs })).toHaveProperty('event');
    }
    expect(refusalOf(() => verifyWebhook(sent.body, sent.signature, [old, `${secret}x`], { nowMs }))).toBe(
      'wrong_signature',
    );
  });

  it('tolerates 300 seconds in both directions, or the given tolerance', () => {
    const at = (seconds: number, toleranceSeconds?: number): string =>
      refusalOf(() =>
        verifyWebhook(sent.body, sent.signature, secret, { nowMs: nowMs + seconds * 1000, toleranceSeconds }),
      );
    expect([at(300), at(-300)]).toEqual(['none', 'none']);
    expect([at(301), at(-301)]).toEqual(['timestamp_out_of_tolerance', 'timestamp_out_of_tolerance']);
    expect([at(10, 10), at(11, 10), at(0, 0), at(1, 0)]).toEqual([
      ...['none', 'timestamp_out_of_tolerance', 'none', 'timestamp_out_of_tolerance'],
    ]);
  });

  it.each([
    [400, /signed 400 seconds ago .* this clock is fast/],
    [-400, /dated 400 seconds in the future .* this clock is slow/],
  ])('distinguishes a request of the past from one of the future: %i seconds', (seconds, words) => {
    const late = () => verifyWebhook(sent.body, sent.signature, secret, { nowMs: nowMs + seconds * 1000 });
    expect(late).toThrow(words);
  });

  it('reads the clock when no time is given', () => {
    expect(verifyWebhook(sent.body, signWebhook(sent.body, secret), secret)).toEqual(JSON.parse(sent.body));
    expect(refusalOf(() => verifyWebhook(sent.body, signWebhook(sent.body, secret, { nowMs: 0 }), secret))).toBe(
      'timestamp_out_of_tolerance',
    );
  });

  it.each([undefined, null, '', []])('reports a missing header when it is %j', (header) => {
    expect(refusalOf(() => verifyWebhook(sent.body, header, secret, { nowMs }))).toBe('missing_header');
  });

  it('accepts a header that a framework gives as a list', () => {
    expect(verifyWebhook(sent.body, [sent.signature], secret, { nowMs })).toHaveProperty('event', 'message.sent');
    expect(verifyWebhook(sent.body, sent.signature.split(','), secret, { nowMs })).toHaveProperty(
      'event',
      'message.sent',
    );
  });

  it.each([
    ['blanks around the pairs', sent.signature.replaceAll(',', ' ,\t ')],
    ['blanks around keys and values', ` ${sent.signature.replaceAll('=', ' = ')} `],
    ['empty pairs', `, ${sent.signature},,`],
  ])('accepts a header with %s', (_what, header) => {
    expect(verifyWebhook(sent.body, header, secret, { nowMs })).toHaveProperty('event', 'message.sent');
  });

  it.each(['\n', '\r\n'])('accepts a secret that was read from a file with the line break %j at its end', (end) => {
    expect(verifyWebhook(sent.body, sent.signature, `${secret}${end}`, { nowMs })).toHaveProperty('event');
    expect(verifyWebhook(sent.body, sent.signature, ['whsec_other', `${secret}${end}`], { nowMs })).toHaveProperty(
      'event',
    );
    expect(signWebhook(sent.body, `${secret}${end}`, { nowMs })).toBe(sent.signature);
  });

  it('keeps every other byte of a secret: a blank at its end is part of the key', () => {
    expect(refusalOf(() => verifyWebhook(sent.body, sent.signature, `${secret} `, { nowMs }))).toBe('wrong_signature');
    expect(() => verifyWebhook(sent.body, sent.signature, '\n', { nowMs })).toThrow(TypeError);
  });

  it('takes the body as text, Buffer, Uint8Array or ArrayBuffer, also as a part of a larger buffer', () => {
    const bytes = new TextEncoder().encode(sent.body);
    const larger = new Uint8Array(bytes.length + 20);
    larger.set(bytes, 10);
    const part = larger.subarray(10, 10 + bytes.length);
    const foreign: Uint8Array = runInNewContext('Uint8Array.from(bytes)', { bytes });
    for (const body of [sent.body, Buffer.from(bytes), bytes, bytes.buffer, part, foreign]) {
      expect(verifyWebhook(body, sent.signature, secret, { nowMs })).toEqual(JSON.parse(sent.body));
      expect(signWebhook(body, secret, { nowMs })).toBe(sent.signature);
    }
  });

  it.each(['not json', '"text"', '[]', '{}', 'null', ''])(
    'reports that %j is no event, even when the signature is valid',
    (body) => {
      expect(refusalOf(() => verifyWebhook(body, signWebhook(body, secret, { nowMs }), secret, { nowMs }))).toBe(
        'invalid_body',
      );
    },
  );

  it('throws a TypeError for a parsed body, a missing secret and an invalid tolerance, because no request is at fault', () => {
    const given = JSON.parse(sent.body);
    const call =
      (...parameters: readonly unknown[]) =>
      () =>
        Reflect.apply(verifyWebhook, undefined, parameters);
    expect(call(given, sent.signature, secret)).toThrow(/raw bytes/);
    for (const none of ['', undefined, [], [secret, '']])
      expect(call(sent.body, sent.signature, none)).toThrow(TypeError);
    for (const none of [-1, Number.NaN]) {
      expect(call(sent.body, sent.signature, secret, { toleranceSeconds: none })).toThrow(TypeError);
    }
  });

  it('accepts whatever signWebhook signed, and rejects it after any change of one byte', () => {
    const event = fc
      .record({ event: fc.string(), data: fc.dictionary(fc.string(), fc.string()) })
      .map((each) => JSON.stringify(each));
    const anySecret = fc.string({ minLength: 1 });
    fc.assert(
      fc.property(event, anySecret, fc.nat(), fc.integer({ min: 1, max: 255 }), (body, one, at, change) => {
        const header = signWebhook(body, one, { nowMs });
        expect(verifyWebhook(body, header, one, { nowMs })).toEqual(JSON.parse(body));
        const changed = Buffer.from(body);
        const index = at % changed.length;
        changed[index] = (changed[index] ?? 0) ^ change;
        expect(refusalOf(() => verifyWebhook(changed, header, one, { nowMs }))).toBe('wrong_signature');
      }),
    );
  });

  it('throws no other error, whatever the header contains', () => {
    const piece = fc.oneof(fc.string(), fc.constantFrom('t=', 'v1=', ',', '=', `${sent.t}`, sent.signature));
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const header = pieces.join('');
        const reason = refusalOf(() => verifyWebhook(sent.body, header, secret, { nowMs }));
        // Only a header that contains the whole signature may be accepted.
        if (!header.includes(sent.signature)) expect(reason).not.toBe('none');
      }),
    );
  });
});
