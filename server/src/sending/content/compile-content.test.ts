import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CompiledContent, ContentError, compileContent, targetUrl, targetUrlsOf } from './compile-content.ts';
import { type Content, type ContentChannel, contentChannels, contentSchema } from './content.ts';
import type { Person, PropertyValue } from './template.ts';

function compile(content: unknown): CompiledContent {
  return compileContent(contentSchema.parse(content));
}

function person(properties: Readonly<Record<string, PropertyValue>> = {}, firstName: string | null = null): Person {
  const map = new Map(Object.entries(properties));
  return { firstName, externalId: null, country: null, language: null, timezone: null, properties: map };
}

const nobody = person();
const ada = person({ sku: 'a/b', plan: 'pro' }, 'Ada');
const defaults = { ttl: 259_200, priority: 'high' };

function contentOf(
  compiled: CompiledContent,
  channel: ContentChannel,
  who: Person,
  language: string | null = null,
): object {
  const rendered = compiled.render(channel, who, language);
  if (rendered.kind !== 'content') throw new Error(JSON.stringify(rendered));
  return rendered.content;
}

describe('rendering', () => {
  test('puts the person into every field that is personalized, and into no other', () => {
    const compiled = compile({
      title: 'T {{first_name}}',
      body: 'B {{first_name}}',
      url: 'https://shop.example/{{properties.sku}}',
      image: 'https://shop.example/{{properties.sku}}.png',
      icon: 'https://shop.example/{{properties.plan}}.png',
      data: { sku: '{{properties.sku}}', count: 3, vip: true, literal: 'x' },
      collapse_key: 'k',
      ttl: 60,
      priority: 'low',
      webpush: {
        actions: [
          { action: 'open', title: 'Open {{properties.plan}}', url: 'https://shop.example/o/{{properties.sku}}' },
          { action: 'later', title: 'Later' },
        ],
      },
      apns: { subtitle: 'S {{properties.plan}}' },
    });
    const common = {
      title: 'T Ada',
      body: 'B Ada',
      url: 'https://shop.example/a%2Fb',
      image: 'https://shop.example/a%2Fb.png',
      data: { sku: 'a/b', count: 3, vip: true, literal: 'x' },
      collapse_key: 'k',
      ttl: 60,
      priority: 'low',
    };
    expect(contentOf(compiled, 'webpush', ada)).toEqual({
      ...common,
      icon: 'https://shop.example/pro.png',
      actions: [
        { action: 'open', title: 'Open pro', url: 'https://shop.example/o/a%2Fb' },
        { action: 'later', title: 'Later' },
      ],
    });
    expect(contentOf(compiled, 'apns', ada)).toEqual({ ...common, subtitle: 'S pro' });
    expect(contentOf(compiled, 'fcm', ada)).toEqual(common);
  });

  test('one person leaves no trace in the content of the next', () => {
    const compiled = compile({ title: 'Hi {{first_name}}', body: 'B', data: { plan: '{{properties.plan}}' } });
    contentOf(compiled, 'fcm', ada);
    expect(contentOf(compiled, 'fcm', nobody)).toEqual({ ...defaults, title: 'Hi ', body: 'B', data: { plan: '' } });
  });

  test('content without personalization is one object for every device', () => {
    const compiled = compile({ title: 'T', locales: { de: { title: 'D' } } });
    expect(contentOf(compiled, 'fcm', ada)).toBe(contentOf(compiled, 'fcm', nobody, 'fr'));
    expect(contentOf(compiled, 'fcm', ada, 'de-AT')).toBe(contentOf(compiled, 'fcm', nobody, 'de'));
  });

  test.each([
    [null, 'Sale'],
    ['fr', 'Sale'],
    ['de', 'Ausverkauf'],
    ['de-AT', 'Ausverkauf'],
    ['pt-BR', 'Liquidação'],
    ['pt-PT', 'Sale'],
  ])('the language %s is greeted with %s', (language, title) => {
    const compiled = compile({
      title: 'Sale',
      locales: { de: { title: 'Ausverkauf' }, 'PT-br': { title: 'Liquidação' } },
    });
    expect(contentOf(compiled, 'apns', nobody, language)).toMatchObject({ title });
  });

  test('a template may stand in one language only', () => {
    const compiled = compile({ title: 'T', locales: { de: { title: 'Hallo {{first_name}}' } } });
    expect(contentOf(compiled, 'fcm', ada, 'de')).toMatchObject({ title: 'Hallo Ada' });
    expect(contentOf(compiled, 'fcm', ada)).toMatchObject({ title: 'T' });
  });
});

describe('a delivery with nothing to show', () => {
  test('is skipped, when title and body come out empty for this person', () => {
    const compiled = compile({ title: '{{first_name}}', body: '{{properties.news}}' });
    expect(compiled.render('fcm', nobody, null)).toEqual({ kind: 'skip', reason: 'empty_content' });
    expect(contentOf(compiled, 'fcm', ada)).toEqual({ ...defaults, title: 'Ada' });
  });

  test('is skipped on a channel that has no text, and in a language that has none', () => {
    const compiled = compile({ title: 'T', locales: { de: { title: null } }, fcm: { title: '' } });
    expect(compiled.render('fcm', nobody, null)).toEqual({ kind: 'skip', reason: 'empty_content' });
    expect(compiled.render('apns', nobody, 'de')).toEqual({ kind: 'skip', reason: 'empty_content' });
    expect(compiled.render('apns', nobody, null).kind).toBe('content');
  });

  test('is skipped when only white space and invisible characters are left', () => {
    const compiled = compile({ title: '{{properties.a}} {{properties.b}}', body: '\u200b{{first_name}}\u00ad' });
    const blank = person({ a: '\u2800', b: '\u3164\n' }, '\u00a0');
    expect(compiled.render('fcm', nobody, null)).toEqual({ kind: 'skip', reason: 'empty_content' });
    expect(compiled.render('apns', blank, null)).toEqual({ kind: 'skip', reason: 'empty_content' });
    expect(contentOf(compiled, 'fcm', ada)).toEqual({ ...defaults, body: '\u200bAda\u00ad' });
    expect(contentOf(compiled, 'fcm', person({ a: '🎉' }))).toEqual({ ...defaults, title: '🎉 ' });
  });

  test.each([{ badge: 0 }, { badge: 7 }, { sound: 'bell.caf' }, { badge: 0, content_available: true }])(
    'is sent on apns with %j, which is a push of its own, and on no other channel',
    (apns) => {
      const compiled = compile({ apns });
      expect(contentOf(compiled, 'apns', nobody)).toEqual({ ...defaults, ...apns });
      for (const channel of ['webpush', 'fcm'] as const)
        expect(compiled.render(channel, nobody, null)).toEqual({ kind: 'skip', reason: 'empty_content' });
    },
  );

  test('is no push of a badge when its text came out empty', () => {
    const compiled = compile({ title: '{{first_name}}', apns: { badge: 3 } });
    expect(compiled.render('apns', nobody, null)).toEqual({ kind: 'skip', reason: 'empty_content' });
    expect(contentOf(compiled, 'apns', ada)).toEqual({ ...defaults, title: 'Ada', badge: 3 });
  });

  test('sets a badge for one language alone, where the channel removes the text of the others', () => {
    const compiled = compile({ body: 'B', locales: { de: { body: null } }, apns: { badge: 0 } });
    expect(contentOf(compiled, 'apns', nobody)).toEqual({ ...defaults, body: 'B', badge: 0 });
    expect(contentOf(compiled, 'apns', nobody, 'de')).toEqual({ ...defaults, badge: 0 });
    const removed = compile({ body: 'B', locales: { de: { body: 'D' } }, apns: { body: null, badge: 0 } });
    expect(contentOf(removed, 'apns', nobody, 'de')).toEqual({ ...defaults, badge: 0 });
  });

  test('is sent as a background push where it is one', () => {
    const compiled = compile({ data: { a: '{{properties.plan}}' }, apns: { content_available: true } });
    expect(contentOf(compiled, 'fcm', ada)).toEqual({ ...defaults, data: { a: 'pro' } });
    expect(contentOf(compiled, 'apns', ada)).toEqual({ ...defaults, data: { a: 'pro' }, content_available: true });
    expect(compiled.render('webpush', ada, null)).toEqual({ kind: 'skip', reason: 'empty_content' });
  });

  test('is no background push when its text came out empty', () => {
    const compiled = compile({ title: '{{first_name}}', data: { a: 1 }, apns: { content_available: true } });
    expect(compiled.render('fcm', nobody, null)).toEqual({ kind: 'skip', reason: 'empty_content' });
    expect(compiled.render('apns', nobody, null)).toEqual({ kind: 'skip', reason: 'empty_content' });
  });
});

describe('R-74 a text that comes out too long', () => {
  const long = person({ x: 'x'.repeat(1024) });
  test.each<[string, object]>([
    ['a title', { title: '{{properties.x}}'.repeat(5) }],
    ['a body', { body: `{{properties.x}}${'y'.repeat(3100)}` }],
    ['a url', { title: 'T', url: `https://shop.example/${'{{properties.x}}'.repeat(5)}` }],
    ['a value of data', { title: 'T', data: { a: '{{properties.x}}'.repeat(5) } }],
    ['an action', { title: 'T', webpush: { actions: [{ action: 'a', title: '{{properties.x}}'.repeat(5) }] } }],
  ])('%s: fails that delivery and no other', (_, content) => {
    const compiled = compile(content);
    expect(compiled.render('webpush', long, null)).toMatchObject({ kind: 'fail', errorCode: 'payload_too_large' });
    expect(compiled.render('webpush', ada, null).kind).not.toBe('fail');
  });

  test('4,096 characters are not too long', () => {
    expect(contentOf(compile({ body: '{{properties.x}}'.repeat(4) }), 'fcm', long)).toMatchObject({
      body: 'x'.repeat(4096),
    });
  });
});

describe('R-74 a template that throws for one person', () => {
  test('fails that delivery alone, without repeating a value', () => {
    const compiled = compile({ title: 'T {{properties.x}}' });
    const hostile = new Map<string, string>();
    hostile.get = () => {
      throw new Error('a value');
    };
    const rendered = compiled.render('fcm', { ...nobody, properties: hostile }, null);
    expect(rendered).toEqual({ kind: 'fail', errorCode: 'unknown_error', reason: 'A template could not be rendered.' });
    expect(compiled.render('fcm', ada, null).kind).toBe('content');
  });

  test('no such template is known: every person gets an answer, with any values', () => {
    const compiled = compile({
      title: "{{properties.a | append: properties.b | truncate: properties.b, properties.a | default: 'x'}}",
      body: '{% if properties.a < properties.b or properties.a contains properties.b %}{{properties.a | round: properties.b}}{% endif %}',
      url: 'https://shop.example/{{properties.a | plus: properties.b}}?{{properties.b | capitalize}}',
      data: {
        a: '{% case properties.a %}{% when properties.b, nil %}{{properties.b | minus: properties.a}}{% endcase %}',
      },
    });
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.double(),
      fc.boolean(),
      fc.constantFrom('1e308', '-0', 'NaN', 1e308),
    );
    const properties = fc.record({ a: value, b: value }, { requiredKeys: [] });
    fc.assert(
      fc.property(properties, fc.constantFrom(...contentChannels), (values, channel) => {
        const rendered = compiled.render(channel, person(values), null);
        expect(rendered.kind === 'fail' && rendered.errorCode === 'unknown_error').toBe(false);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('facts that a sender needs beforehand', () => {
  test('the values that the templates read, in every field', () => {
    const { attributes, propertyKeys } = compile({
      title: '{{first_name}}',
      url: 'https://shop.example/{{properties.a}}',
      data: { x: '{{properties.b}}' },
      locales: { de: { body: '{{country}}{{properties.c}}' } },
      webpush: { actions: [{ action: 'a', title: '{{properties.d}}', url: 'https://shop.example/{{properties.e}}' }] },
      apns: { subtitle: '{{timezone}}' },
    });
    expect([...attributes].sort()).toEqual(['country', 'first_name', 'timezone']);
    expect([...propertyKeys].sort()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('that the templates read no value', () => {
    const { attributes, propertyKeys } = compile({ title: 'T' });
    expect([attributes.size, propertyKeys.size]).toEqual([0, 0]);
  });

  test('the ttl of each channel, and the largest', () => {
    const { ttlSeconds, largestTtlSeconds } = compile({ title: 'T', ttl: 60, webpush: { ttl: 0 }, fcm: { ttl: null } });
    expect(ttlSeconds).toEqual({ webpush: 0, apns: 60, fcm: 259_200 });
    expect(largestTtlSeconds).toBe(259_200);
  });

  test('whether webpush loses a url in some language', () => {
    expect(compile({ title: 'T', url: 'https://a.example/', locales: { de: { url: 'shop://x' } } }).dropsUrl).toBe(
      true,
    );
    expect(compile({ title: 'T', url: 'https://a.example/' }).dropsUrl).toBe(false);
  });

  test('content that was never checked is refused as a whole', () => {
    expect(() => compileContent({ title: '{{ x }}' } satisfies Content)).toThrow(ContentError);
  });
});

describe('the url that a tap opens', () => {
  const actions = [
    { action: 'open', title: 'Open', url: 'https://a.example/open' },
    { action: 'later', title: 'Later' },
  ];

  test('is known for the whole message where it is literal and the same in every language', () => {
    const compiled = compile({
      title: '{{first_name}}',
      url: 'https://a.example/',
      locales: { de: { title: 'D' } },
      webpush: { actions },
    });
    expect(compiled.literalUrls('fcm')).toEqual({ url: 'https://a.example/', actions: [] });
    expect(compiled.literalUrls('webpush')).toEqual({
      url: 'https://a.example/',
      actions: [
        ['open', 'https://a.example/open'],
        ['later', 'https://a.example/'],
      ],
    });
  });

  test.each<[string, object]>([
    ['a templated url', { title: 'T', url: 'https://a.example/{{external_id}}' }],
    [
      'a url of one language',
      { title: 'T', url: 'https://a.example/', locales: { de: { url: 'https://a.example/de' } } },
    ],
    ['a url that one language lacks', { title: 'T', url: 'https://a.example/', locales: { de: { url: null } } }],
    ['a templated url of one language', { title: 'T', locales: { de: { url: 'https://a.example/{{external_id}}' } } }],
    [
      'a templated url of an action',
      { title: 'T', webpush: { actions: [{ action: 'a', title: 'A', url: 'https://a.example/{{country}}' }] } },
    ],
  ])('stands on the delivery with %s', (_, content) => {
    expect(compile(content).literalUrls('webpush')).toBeNull();
  });

  test('is that of the channel where it has one, and not that of a language', () => {
    const compiled = compile({ title: 'T', locales: { de: { url: 'shop://de' } }, apns: { url: 'shop://all' } });
    expect(compiled.literalUrls('apns')).toEqual({ url: 'shop://all', actions: [] });
    expect(compiled.literalUrls('webpush')).toEqual({ url: null, actions: [] });
    expect(compiled.literalUrls('fcm')).toBeNull();
  });

  test('is found in a rendered delivery', () => {
    const compiled = compile({ title: 'T', url: 'https://a.example/{{first_name}}', webpush: { actions } });
    const rendered = compiled.render('webpush', ada, null);
    if (rendered.kind !== 'content') throw new Error(rendered.kind);
    const urls = targetUrlsOf(rendered.content);
    expect(targetUrl(urls, null)).toBe('https://a.example/Ada');
    expect(targetUrl(urls, 'open')).toBe('https://a.example/open');
    expect(targetUrl(urls, 'later')).toBe('https://a.example/Ada');
    expect(targetUrl(urls, 'unknown')).toBeNull();
    expect(targetUrl(urls, '__proto__')).toBeNull();
    expect(JSON.parse(JSON.stringify(urls))).toEqual(urls);
  });

  test('is null without a url', () => {
    const urls = targetUrlsOf({ title: 'T', ttl: 0, priority: 'high', actions: [{ action: 'a', title: 'A' }] });
    expect([targetUrl(urls, null), targetUrl(urls, 'a')]).toEqual([null, null]);
  });
});
