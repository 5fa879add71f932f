import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProviderAnswer } from '../channels/channel.ts';
import { fillForm, patternOf, refWithin, takeForm } from './answer-form.ts';

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

describe('a success answer like the last one', () => {
  const headers = { location: 'https://push.example/m/abc-123', 'content-type': 'text/plain' };
  const last = answer({ headers, body: 'taken' });
  const pattern = patternOf(last, headers.location, 'abc-123');
  if (!pattern) throw new Error('no pattern');
  const at = (location: string) => ({ ...headers, location });
  const refs = fc.string({ minLength: 4 }).filter((ref) => !ref.includes('/'));

  it('is known by its pattern, and the form of the last reads back as it was, whatever its reference', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), refs, fc.string(), (before, after, ref, other) => {
        const known = answer({ body: before + ref + after });
        const taken = takeForm(known, `p/${ref}`);
        const like = taken && patternOf(known, `p/${ref}`, taken.ref);
        const next = answer({ body: before + other + after });
        if (!taken || !like) return;
        expect(refWithin(like, next, `p/${other}`)).toBe(other);
        expect(fillForm('webpush', taken.form, other)).toEqual({ answer: next, providerMessageId: `p/${other}` });
      }),
    );
  });

  it('is known where the reference stands in a header', () => {
    const next = answer({ headers: at('https://push.example/m/9'), body: 'taken' });
    expect(refWithin(pattern, next, 'https://push.example/m/9')).toBe('9');
  });

  it('has no pattern whose reference is no part of a value', () => {
    const given = answer({});
    expect(takeForm(given, 'null')).toBeDefined();
    expect(patternOf(given, 'null', 'null')).toBeUndefined();
  });

  it.each<[string, Partial<ProviderAnswer>, string | null]>([
    ['status', { httpStatus: 200 }, 'https://push.example/m/9'],
    ['body', { body: 'other' }, 'https://push.example/m/9'],
    ['body that is none', { body: null }, 'https://push.example/m/9'],
    ['length', { truncated: true }, 'https://push.example/m/9'],
    ['place of the message id', {}, 'https://push.example/n/9'],
    ['message id', {}, 'https://push.example/m/8'],
    ['message id that is none', {}, null],
    [
      'header',
      { headers: { ...at('https://push.example/m/9'), 'content-type': 'text/html' } },
      'https://push.example/m/9',
    ],
    ['header more', { headers: { ...at('https://push.example/m/9'), 'retry-after': '1' } }, 'https://push.example/m/9'],
    ['header less', { headers: { location: 'https://push.example/m/9' } }, 'https://push.example/m/9'],
  ])('is not one with another %s', (_what, difference, id) => {
    const next = answer({ headers: at('https://push.example/m/9'), body: 'taken', ...difference });
    expect(refWithin(pattern, next, id)).toBeUndefined();
  });
});
