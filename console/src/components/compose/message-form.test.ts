import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  contentOf,
  differencesAt,
  duplicateOf,
  emptyForm,
  fromWallClock,
  isEmptyContent,
  isNamed,
  isSaidAbove,
  kindOf,
  pathOf,
  readForm,
  readIds,
  readPairs,
  requestOf,
  textAt,
  toWallClock,
  valueAt,
  withField,
  withLanguage,
  withoutPlace,
  writePairs,
} from './message-form.ts';

describe('content by place', () => {
  test('a field of a language or channel is its own, and can be given back', () => {
    let content = withField({}, 'all', 'title', 'Sale');
    content = withField(withLanguage(content, 'de'), 'language-de', 'title', 'Ausverkauf');
    content = withField(content, 'apns', 'subtitle', 'Today');
    expect(content).toEqual({ title: 'Sale', locales: { de: { title: 'Ausverkauf' } }, apns: { subtitle: 'Today' } });
    expect(differencesAt(content, 'language-de')).toBe(1);
    expect(withField(content, 'apns', 'subtitle', undefined)).not.toHaveProperty('apns');
    expect(withField(content, 'language-de', 'title', undefined)['locales']).toEqual({ de: {} });
    expect(withoutPlace(content, 'language-de')).not.toHaveProperty('locales');
  });

  test('a language without a text is sent because its readers get the texts for all, but alone it is no content', () => {
    const form = { ...emptyForm, content: withLanguage({ title: 'Sale' }, 'pt-BR') };
    expect(contentOf(form)).toEqual({ title: 'Sale', locales: { 'pt-BR': {} } });
    expect([isEmptyContent(form.content), isEmptyContent(withLanguage({}, 'pt-BR')), isEmptyContent({})]).toEqual([
      ...[false, true, true],
    ]);
  });

  test('a field is taken away in one place, and given back', () => {
    const content = withField(
      { title: 'Sale', locales: { de: { image: 'https://a.example/b.png' } } },
      'apns',
      'title',
      null,
    );
    expect(content).toMatchObject({ title: 'Sale', apns: { title: null } });
    expect([valueAt(content, 'apns', 'title'), textAt(content, 'apns', 'title')]).toEqual([null, undefined]);
    expect([isSaidAbove(content, 'apns', 'image'), isSaidAbove(content, 'language-fr', 'image')]).toEqual([
      true,
      false,
    ]);
    expect(withField(content, 'apns', 'title', undefined)).not.toHaveProperty('apns');
  });

  test('an issue of the service is found again at its field', () => {
    expect(pathOf('all', 'title')).toEqual(['content', 'title']);
    expect(pathOf('language-pt-BR', 'body')).toEqual(['content', 'locales', 'pt-BR', 'body']);
    expect(pathOf('fcm', 'image')).toEqual(['content', 'fcm', 'image']);
  });
});

describe('the request', () => {
  test('local time counts only with a time', () => {
    const form = { ...emptyForm, content: { title: 'Sale' }, local_time: true, local_time_past: 'skip' as const };
    expect(requestOf(form)).toEqual({ audience: { all: true }, content: { title: 'Sale' } });
    const at = '2026-12-01T09:00:00+01:00';
    expect(requestOf({ ...form, send_at: at, per_second: 50 })).toMatchObject({
      send_at: at,
      local_time: true,
      local_time_past: 'skip',
      per_second: 50,
    });
  });

  test('a wall clock time keeps its hour, whatever the offset', () => {
    const at = fromWallClock('2026-12-01T09:00', false) ?? '';
    expect(at).toMatch(/^2026-12-01T09:00:00[+-]\d\d:\d\d$/);
    expect(Date.parse(at)).toBe(new Date(2026, 11, 1, 9).getTime());
    expect([toWallClock(at, false), toWallClock(at, true)]).toEqual(['2026-12-01T09:00', '2026-12-01T09:00']);
    expect([fromWallClock('', false), toWallClock(null, false), toWallClock('x', false)]).toEqual([null, '', '']);
  });

  test('an hour that the clock skips is the next one, and stays in a local time; the first of two is taken', () => {
    vi.stubEnv('TZ', 'Europe/Berlin');
    expect(new Date(2027, 2, 28, 12).getTimezoneOffset()).toBe(-120);
    expect(fromWallClock('2027-03-28T02:30', false)).toBe('2027-03-28T03:30:00+02:00');
    expect(fromWallClock('2027-03-28T02:30', true)).toMatch(/^2027-03-28T02:30:00/);
    expect(fromWallClock('2027-10-31T02:30', false)).toBe('2027-10-31T02:30:00+02:00');
    vi.unstubAllEnvs();
  });

  test('an instant that a colleague wrote elsewhere is shown on this clock, and a local time as it was written', () => {
    const shown = toWallClock('2026-12-01T09:00:00+13:00', false);
    expect(Date.parse(fromWallClock(shown, false) ?? '')).toBe(Date.parse('2026-12-01T09:00:00+13:00'));
    expect(toWallClock('2026-12-01T09:00:00+13:00', true)).toBe('2026-12-01T09:00');
  });
});

test.each([
  ['one a line', 'u-1\nu-2\n', ['u-1', 'u-2']],
  ['with commas and quotes, each once', '"u-1", \'u-2\';u-1', ['u-1', 'u-2']],
  ['nothing', ' \n', []],
])('ids as people paste them: %s', (_name, text, ids) => {
  expect(readIds(text)).toEqual(ids);
});

test('pairs are typed one a line, and come back as they were', () => {
  const metadata = { campaign: 'autumn = 26', share: 0.5, isFinal: true, code: '0123', number: '26' };
  expect(writePairs(metadata)).toBe('campaign = autumn = 26\nshare = 0.5\nisFinal = true\ncode = 0123\nnumber = "26"');
  expect(readPairs(writePairs(metadata))).toEqual(metadata);
  expect([readPairs(' \n'), writePairs(null)]).toEqual([null, '']);
});

test('a draft of any shape is read without a fault', () => {
  for (const stored of [null, [], 'text', { content: 5, audience: [] }, {}]) {
    expect(readForm(stored)).toMatchObject(emptyForm);
  }
  const stored = { audience: { segment_id: 'seg_1' }, content: { title: 'A' }, metadata: { campaign: 'x' } };
  expect(readForm(stored)).toEqual(stored);
  expect([kindOf(stored.audience), isNamed(stored.audience), isNamed({ segment_id: '' })]).toEqual([
    ...['segment_id', true, false],
  ]);
});

test('a duplicate is sent now, has a name of its own, and keeps the exclusion of the first message', () => {
  const message = {
    name: 'Sale',
    audience: { all: true },
    content: { title: 'Sale' },
    metadata: null,
    run_at: 'x',
    exclude_segment_id: null,
    per_second: null,
    local_send_at: null,
    local_time_past: null,
  };
  const copy = { name: 'Sale (copy)', audience: { all: true }, content: { title: 'Sale' } };
  expect(duplicateOf(message as never)).toEqual(copy);
  const bounded = { ...message, exclude_segment_id: 'seg_1', per_second: 50 };
  expect(duplicateOf(bounded as never)).toEqual({ ...copy, exclude_segment_id: 'seg_1', per_second: 50 });
});

test('any pair comes back as it was, whatever its value', () => {
  const scalar = fc.oneof(
    ...[
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.boolean(),
      fc.constantFrom('true', '"', '"x"', 'a\nb', ' x ', '1e21'),
    ],
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  );
  const key = fc.constantFrom('campaign', 'a.b', 'c-1', '_', '0');
  fc.assert(
    fc.property(fc.dictionary(key, scalar, { minKeys: 1, noNullPrototype: true }), (pairs) => {
      expect(readPairs(writePairs(pairs))).toEqual(pairs);
    }),
  );
});

test('a form keeps every part of a draft that it has no field for, and what it holds in another shape', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue(), { noNullPrototype: true }), (content) => {
      const stored = JSON.parse(JSON.stringify({ audience: { all: true }, content, later: [1, { a: null }] }));
      const form = readForm(stored);
      expect(JSON.stringify(form)).toBe(JSON.stringify(stored));
      const changed = { ...form, content: withField(form.content, 'all', 'title', 'x') };
      const { title: _title, ...rest } = stored.content;
      expect(JSON.parse(JSON.stringify(changed))).toEqual({ ...stored, content: { ...rest, title: 'x' } });
    }),
  );
});
