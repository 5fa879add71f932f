import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProviderAnswer } from '../channels/channel.ts';
import { fillForm, takeForm } from './answer-form.ts';

const answer = (overrides: Partial<ProviderAnswer>): ProviderAnswer => ({
  name: 'webpush',
  httpStatus: 201,
  headers: {},
  body: null,
  truncated: false,
  transportError: null,
  ...overrides,
});

describe('a success answer', () => {
  it('of web push is a form and the last part of its Location', () => {
    const given = answer({ headers: { location: 'https://push.example/m/abc-123', 'content-type': 'text/plain' } });
    const taken = takeForm(given, 'https://push.example/m/abc-123');
    expect(taken?.ref).toBe('abc-123');
    expect(taken?.form).not.toContain('abc-123');
    expect(fillForm('webpush', taken?.form ?? '', 'abc-123')).toEqual({
      answer: given,
      providerMessageId: 'https://push.example/m/abc-123',
    });
  });

  it('of FCM keeps its white space byte for byte', () => {
    const given = answer({
      name: 'fcm',
      httpStatus: 200,
      body: '{\n  "name" : "projects/x/messages/0:17%ab\\"c"\n}\n',
    });
    const id = 'projects/x/messages/0:17%ab\\"c';
    const taken = takeForm(given, id);
    expect(taken && fillForm('fcm', taken.form, taken.ref)).toEqual({ answer: given, providerMessageId: id });
  });

  it('of any bytes reads back as it was, whenever it has a form', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string({ minLength: 4 }), (before, after, ref) => {
        const given = answer({ body: before + ref + after });
        const taken = takeForm(given, `p/${ref}`);
        if (taken) expect(fillForm('webpush', taken.form, taken.ref).answer).toEqual(given);
      }),
    );
  });

  it.each<[string, ProviderAnswer, string | null]>([
    ['without a reference', answer({}), null],
    ['whose reference stands nowhere', answer({ body: 'ok' }), 'abcd'],
    ['whose reference stands twice', answer({ body: 'abcd abcd' }), 'abcd'],
    ['that was cut', answer({ body: 'abcd', truncated: true }), 'abcd'],
    ['with a reference too short to be one', answer({ body: 'a b c' }), 'm/b'],
  ])('%s has no form and is stored whole', (_why, given, id) => {
    expect(takeForm(given, id)).toBeUndefined();
  });
});
