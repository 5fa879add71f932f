import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError } from '../../ground/http/api-error.ts';
import { validate } from '../../ground/http/validate.ts';
import type { Issue } from '../../ground/values/issue.ts';
import { type Content, contentSchema, dropsUrl, mergeContent, pushKindOf } from './content.ts';

// Content inside a request, as in POST /v1/messages, so that paths read as a caller sees them.
const request = z.strictObject({ content: contentSchema });

function parse(content: unknown): Content {
  return validate(request, { content }).content;
}

function issuesOf(content: unknown): readonly Issue[] {
  try {
    parse(content);
  } catch (error) {
    if (error instanceof ApiError) return error.details.issues ?? [];
    throw error;
  }
  return [];
}

/** Each issue as `path code`. */
function findings(content: unknown): readonly string[] {
  return issuesOf(content).map(({ path, code }) => `${path.join('.')} ${code}`);
}

const fields = {
  common: {
    title: 'Hi {{first_name}}',
    body: 'Body',
    url: 'https://shop.example/{{properties.sku}}',
    image: 'https://shop.example/a.png',
    icon: 'https://shop.example/i.png',
    data: { a: 'x{{properties.y}}', b: 1.5, c: false, 'd.e-f_G': '' },
    ttl: 0,
    priority: 'low',
    collapse_key: 'order-17',
  },
  webpush: {
    badge: 'https://shop.example/b.png',
    tag: 't',
    renotify: true,
    require_interaction: false,
    silent: true,
    actions: [
      { action: 'open', title: 'Open {{first_name}}', url: 'https://shop.example/{{properties.sku}}' },
      { action: 'later', title: 'Later', url: null, icon: 'https://shop.example/l.png' },
    ],
    dir: 'rtl',
    lang: 'pt-BR',
    app_badge: 99_999,
  },
  apns: {
    subtitle: 'Sub {{first_name}}',
    sound: { name: 'bell.caf', critical: true, volume: 0.5 },
    badge: 0,
    category: 'c',
    thread_id: 't',
    interruption_level: 'time-sensitive',
    relevance_score: 1,
    mutable_content: true,
    content_available: false,
    target_content_id: 'x',
  },
  fcm: {
    channel_id: 'news',
    sound: 'bell',
    color: '#00ff7F',
    tag: 't',
    visibility: 'secret',
    notification_count: 1,
    click_action: 'OPEN',
    analytics_label: 'autumn-26',
    direct_boot_ok: true,
  },
};

describe('content', () => {
  const everything = {
    ...fields.common,
    locales: {
      de: { title: 'T', body: 'B', subtitle: 'S', url: 'https://shop.example/de', image: 'https://shop.example/d.png' },
      'pt-BR': { title: null },
    },
    webpush: { ...fields.common, ...fields.webpush },
    apns: { ...fields.common, ...fields.apns },
    fcm: { ...fields.common, icon: 'ic_bell', ...fields.fcm },
  };

  test('takes every field and keeps what was sent', () => {
    expect(parse(everything)).toEqual(everything);
  });

  test('that was accepted and stored is accepted again when its message runs', () => {
    const stored: unknown = JSON.parse(JSON.stringify(parse(everything)));
    expect(parse(stored)).toEqual(stored);
  });

  test('keeps nulls, because they remove a value', () => {
    const content = {
      title: 'T',
      url: null,
      webpush: {
        ...Object.fromEntries(Object.keys({ ...fields.common, ...fields.webpush }).map((key) => [key, null])),
      },
      apns: { title: null, sound: { name: 'x', critical: null, volume: null } },
      fcm: null,
      locales: { de: null, fr: { title: null, body: null, subtitle: null, url: null, image: null } },
    };
    expect(parse(content)).toEqual(content);
  });

  test('stores language tags in canonical case', () => {
    expect(
      Object.keys(parse({ title: 'T', locales: { 'PT-br': {}, DE: {}, 'zh-HANT-tw': {} } }).locales ?? {}),
    ).toEqual(['pt-BR', 'de', 'zh-Hant-TW']);
  });

  test('can be described as JSON Schema', () => {
    const schema = JSON.stringify(z.toJSONSchema(contentSchema, { io: 'input' }));
    expect(schema).toContain('"maxLength":4096');
    expect(schema).toContain('"additionalProperties":false');
    expect(schema).toContain('"maxProperties":20');
  });

  test('never makes the schema throw anything but its findings', () => {
    const key = fc.constantFrom(
      ...Object.keys({ ...everything, ...fields.webpush, ...fields.apns, ...fields.fcm }),
      '__proto__',
    );
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('{{first_name', 'https://{{x}}', 'x:/'),
      fc.jsonValue(),
    );
    const flat = fc
      .array(fc.tuple(key, value), { maxLength: 6 })
      .map((entries) => JSON.stringify(Object.fromEntries(entries)));
    const nested = fc
      .array(
        fc.tuple(
          key,
          fc.oneof(
            value,
            flat.map((text) => JSON.parse(text)),
          ),
        ),
        { maxLength: 8 },
      )
      .map((entries) =>
        JSON.parse(`{${entries.map(([name, item]) => `${JSON.stringify(name)}:${JSON.stringify(item)}`).join()}}`),
      );
    fc.assert(
      fc.property(nested, (content) => {
        expect(Array.isArray(issuesOf(content))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('the limits of content', () => {
  const ok = { title: 'T' };
  const url = (length: number): string => 'https://shop.example/'.padEnd(length, 'x');
  const text = (length: number): string => 'x'.repeat(length);
  const keys = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));
  const tags = (count: number): object =>
    Object.fromEntries(
      Array.from({ length: count }, (_, i) => [`aa-A${String.fromCharCode(65 + (i % 26))}${1000 + i}`, {}]),
    );
  const webpush = (value: object): object => ({ ...ok, webpush: value });
  const apns = (value: object): object => ({ ...ok, apns: value });
  const fcm = (value: object): object => ({ ...ok, fcm: value });

  test.each<[string, object]>([
    ['title', { title: text(1024) }],
    ['body', { body: text(4096) }],
    ['title in UTF-16 code units', { title: '👍'.repeat(512) }],
    ['url', { ...ok, url: url(2048) }],
    ['image', { ...ok, image: url(2048) }],
    ['icon', { ...ok, icon: url(2048) }],
    ['icon of Android', { ...ok, icon: 'ic_bell' }],
    ['icon of Android by person', fcm({ icon: '{{properties.tier}}_icon' })],
    ['icon of webpush', webpush({ icon: url(30) })],
    ['ttl', { ...ok, ttl: 2_419_200 }],
    ['priority', { ...ok, priority: 'normal' }],
    ['collapse_key', { ...ok, collapse_key: '!'.repeat(64) }],
    ['data', { ...ok, data: keys(20) }],
    ['a value of data', { ...ok, data: { a: text(2048) } }],
    ['a key of data', { ...ok, data: { [text(64)]: 1 } }],
    ['locales', { ...ok, locales: tags(100) }],
    ['an app url at the top', { ...ok, url: 'shop://item/7' }],
    ['an app url of apns', apns({ url: 'shop://item/7' })],
    ['actions', webpush({ actions: [] })],
    ['subtitle', apns({ subtitle: text(1024) })],
    ['sound', apns({ sound: text(128) })],
    ['a background push of apns', { apns: { content_available: true } }],
    ['a background push of fcm', { fcm: { data: { a: 1 } } }],
    ['a background push of fcm from common data', { data: { a: 1 } }],
    ['a title of one channel', { webpush: { title: 'T' } }],
    ['a title of one language', { locales: { de: { body: 'B' } } }],
    ['a title that a person fills', { title: '{{first_name}}' }],
  ])('%s is accepted', (_, content) => {
    expect(issuesOf(content)).toEqual([]);
  });

  test.each<[object, string]>([
    [{ title: text(1025) }, 'content.title too_big'],
    [{ title: 7 }, 'content.title invalid_type'],
    [{ body: text(4097) }, 'content.body too_big'],
    [{ ...ok, url: url(2049) }, 'content.url too_big'],
    [{ ...ok, url: '' }, 'content.url invalid_format'],
    [{ ...ok, url: 'javascript:alert(1)' }, 'content.url invalid_format'],
    [{ ...ok, url: 'https://{{properties.host}}/' }, 'content.url invalid_format'],
    [{ ...ok, url: 'https://shop.example/{{ x }}' }, 'content.url template_syntax'],
    [{ ...ok, image: 'http://shop.example/a.png' }, 'content.image invalid_format'],
    [{ ...ok, image: '{{properties.image}}' }, 'content.image invalid_format'],
    [{ ...ok, icon: 'http://shop.example/a.png' }, 'content.icon invalid_format'],
    [{ ...ok, icon: '' }, 'content.icon invalid_format'],
    [webpush({ icon: 'ic_bell' }), 'content.webpush.icon invalid_format'],
    [fcm({ icon: 'https://shop.example/a.png' }), 'content.fcm.icon invalid_format'],
    [{ ...ok, ttl: -1 }, 'content.ttl too_small'],
    [{ ...ok, ttl: 2_419_201 }, 'content.ttl too_big'],
    [{ ...ok, ttl: 1.5 }, 'content.ttl invalid_type'],
    [{ ...ok, ttl: '60' }, 'content.ttl invalid_type'],
    [{ ...ok, priority: 'urgent' }, 'content.priority invalid_value'],
    [{ ...ok, collapse_key: '' }, 'content.collapse_key too_small'],
    [{ ...ok, collapse_key: text(65) }, 'content.collapse_key too_big'],
    [{ ...ok, collapse_key: 'a b' }, 'content.collapse_key invalid_format'],
    [{ ...ok, collapse_key: '{{first_name}}' }, 'content.collapse_key template_syntax'],
    [{ ...ok, data: keys(21) }, 'content.data too_big'],
    [{ ...ok, data: [] }, 'content.data invalid_type'],
    [{ ...ok, data: { a: text(2049) } }, 'content.data.a too_big'],
    [{ ...ok, data: { a: null } }, 'content.data.a invalid_type'],
    [{ ...ok, data: { a: {} } }, 'content.data.a invalid_type'],
    [{ ...ok, data: { a: '{{ x }}' } }, 'content.data.a template_syntax'],
    [{ ...ok, data: { 'a b': 1 } }, 'content.data.a b invalid_format'],
    [{ ...ok, data: { [text(65)]: 1 } }, `content.data.${text(65)} invalid_format`],
    [{ ...ok, locales: tags(101) }, 'content.locales too_big'],
    [{ ...ok, locales: [] }, 'content.locales invalid_type'],
    [{ ...ok, locales: { de_DE: {} } }, 'content.locales.de_DE invalid_format'],
    [{ ...ok, locales: { de: {}, DE: {} } }, 'content.locales.DE invalid_value'],
    [{ ...ok, locales: { de: { ttl: 1 } } }, 'content.locales.de.ttl unrecognized_keys'],
    [{ ...ok, locales: { de: { title: '{{ x }}' } } }, 'content.locales.de.title template_syntax'],
    [{ ...ok, locales: { de: { body: text(4097) } } }, 'content.locales.de.body too_big'],
    [{ ...ok, locales: { de: 'T' } }, 'content.locales.de invalid_type'],
    [{ ...ok, subtitle: 'S' }, 'content.subtitle unrecognized_keys'],
    [webpush({ locales: {} }), 'content.webpush.locales unrecognized_keys'],
    [webpush({ url: 'shop://item/7' }), 'content.webpush.url invalid_format'],
    [webpush({ badge: 3 }), 'content.webpush.badge invalid_type'],
    [webpush({ badge: 'http://shop.example/b.png' }), 'content.webpush.badge invalid_format'],
    [webpush({ tag: text(65) }), 'content.webpush.tag too_big'],
    [webpush({ silent: 'yes' }), 'content.webpush.silent invalid_type'],
    [webpush({ dir: 'up' }), 'content.webpush.dir invalid_value'],
    [webpush({ lang: 'pt_BR' }), 'content.webpush.lang invalid_format'],
    [webpush({ app_badge: 100_000 }), 'content.webpush.app_badge too_big'],
    [webpush({ actions: [1, 2, 3].map((n) => ({ action: `a${n}`, title: 'T' })) }), 'content.webpush.actions too_big'],
    [webpush({ actions: [{ action: '', title: 'T' }] }), 'content.webpush.actions.0.action too_small'],
    [webpush({ actions: [{ action: text(65), title: 'T' }] }), 'content.webpush.actions.0.action too_big'],
    [webpush({ actions: [{ action: 'a' }] }), 'content.webpush.actions.0.title required'],
    [webpush({ actions: [{ action: 'a', title: text(129) }] }), 'content.webpush.actions.0.title too_big'],
    [webpush({ actions: [{ action: 'a', title: '{{ x }}' }] }), 'content.webpush.actions.0.title template_syntax'],
    [
      webpush({ actions: [{ action: 'a', title: 'T', url: 'shop://x' }] }),
      'content.webpush.actions.0.url invalid_format',
    ],
    [webpush({ actions: [{ action: 'a', title: 'T', x: 1 }] }), 'content.webpush.actions.0.x unrecognized_keys'],
    [
      webpush({ actions: ['a', 'a'].map((action) => ({ action, title: 'T' })) }),
      'content.webpush.actions.1.action invalid_value',
    ],
    [webpush({ subtitle: 'S' }), 'content.webpush.subtitle unrecognized_keys'],
    [apns({ subtitle: text(1025) }), 'content.apns.subtitle too_big'],
    [apns({ sound: text(129) }), 'content.apns.sound too_big'],
    [apns({ sound: { name: 'a', volume: 1.1 } }), 'content.apns.sound.volume too_big'],
    [apns({ sound: { volume: 1 } }), 'content.apns.sound invalid_type'],
    [apns({ badge: -1 }), 'content.apns.badge too_small'],
    [apns({ category: text(65) }), 'content.apns.category too_big'],
    [apns({ category: '{{first_name}}' }), 'content.apns.category template_syntax'],
    [apns({ thread_id: text(65) }), 'content.apns.thread_id too_big'],
    [apns({ interruption_level: 'loud' }), 'content.apns.interruption_level invalid_value'],
    [apns({ relevance_score: 1.01 }), 'content.apns.relevance_score too_big'],
    [apns({ target_content_id: text(257) }), 'content.apns.target_content_id too_big'],
    [apns({ actions: [] }), 'content.apns.actions unrecognized_keys'],
    [fcm({ channel_id: text(129) }), 'content.fcm.channel_id too_big'],
    [fcm({ sound: { name: 'a' } }), 'content.fcm.sound invalid_type'],
    [fcm({ color: 'red' }), 'content.fcm.color invalid_format'],
    [fcm({ visibility: 'hidden' }), 'content.fcm.visibility invalid_value'],
    [fcm({ notification_count: 1.5 }), 'content.fcm.notification_count invalid_type'],
    [fcm({ click_action: text(257) }), 'content.fcm.click_action too_big'],
    [fcm({ analytics_label: text(51) }), 'content.fcm.analytics_label too_big'],
    [fcm({ badge: 1 }), 'content.fcm.badge unrecognized_keys'],
    [{}, 'content empty_content'],
    [{ title: '', body: null }, 'content empty_content'],
    [{ url: 'https://shop.example/', data: {} }, 'content empty_content'],
    [{ title: 'T', webpush: { title: null }, apns: { title: null }, fcm: { title: '' } }, 'content empty_content'],
    [{ webpush: { data: { a: 1 } } }, 'content empty_content'],
    [{ apns: { content_available: false, data: { a: 1 } } }, 'content empty_content'],
    [{ locales: { de: { subtitle: 'S' } } }, 'content empty_content'],
    [{ title: ' ', body: '\n\t' }, 'content empty_content'],
    [{ title: '\u200b', body: '\u00ad\u2800' }, 'content empty_content'],
    [{ title: ' ', locales: { de: { title: '\u3164' } }, apns: { body: '\ufeff' } }, 'content empty_content'],
    [{ apns: { sound: '' } }, 'content empty_content'],
    [{ apns: { sound: { name: '' } } }, 'content empty_content'],
    [{ webpush: { badge: 'https://a.example/b.png', app_badge: 1 } }, 'content empty_content'],
    [{ fcm: { sound: 'bell', notification_count: 1 } }, 'content empty_content'],
  ])('%j is refused: %s', (content, finding) => {
    expect(findings(content)).toEqual([finding]);
  });

  test.each([
    'aps',
    'url',
    'image_url',
    'from',
    'message_type',
    'google',
    'google.x',
    'gcm',
    'gcm.n',
    'carillon_token',
  ])('the key %s of data is reserved', (key) => {
    expect(findings({ ...ok, data: { [key]: 'x' }, fcm: { data: { [key]: 1 } } })).toEqual([
      `content.data.${key} reserved_key`,
      `content.fcm.data.${key} reserved_key`,
    ]);
  });

  test('an unknown field of a channel is refused with the list of its fields', () => {
    const [issue] = issuesOf({ ...ok, fcm: { subtitle: 'S' } });
    expect(issue).toMatchObject({ path: ['content', 'fcm', 'subtitle'], code: 'unrecognized_keys' });
    expect(new Set(issue?.allowed)).toEqual(new Set([...Object.keys(fields.common), ...Object.keys(fields.fcm)]));
  });

  test('several findings come at once', () => {
    expect(
      findings({ title: '{{ x }}', url: 'x', ttl: -1, data: { aps: 1 }, apns: { x: 1 }, locales: { q: {} } }),
    ).toEqual([
      'content.title template_syntax',
      'content.url invalid_format',
      'content.data.aps reserved_key',
      'content.ttl too_small',
      'content.locales.q invalid_format',
      'content.apns.x unrecognized_keys',
    ]);
  });

  test('a template is not read when its text is too long', () => {
    expect(findings({ title: '{{'.repeat(600) })).toEqual(['content.title too_big']);
    expect(findings({ ...ok, url: '{{'.repeat(1100) })).toEqual(['content.url too_big']);
  });

  test('R-72 a key of data named __proto__ is kept, and is no prototype', () => {
    const content = JSON.parse('{"title":"T","data":{"__proto__":"x","constructor":"y"}}');
    const parsed = parse(content);
    expect(JSON.stringify(parsed)).toBe('{"title":"T","data":{"__proto__":"x","constructor":"y"}}');
    expect(JSON.stringify(mergeContent(parsed, 'fcm', null).data)).toBe('{"__proto__":"x","constructor":"y"}');
  });

  test('R-72 elsewhere a field named __proto__ is an unknown field', () => {
    expect(findings(JSON.parse('{"title":"T","__proto__":{"ttl":1}}'))).toEqual([
      'content.__proto__ unrecognized_keys',
    ]);
    expect(findings(JSON.parse('{"title":"T","locales":{"__proto__":{}}}'))).toEqual([
      'content.locales.__proto__ invalid_format',
    ]);
  });
});

describe('merging', () => {
  const defaults = { ttl: 259_200, priority: 'high' };

  test.each<[string, object, 'webpush' | 'apns' | 'fcm', string | null, object]>([
    ['the top level is everyone’s', { title: 'T', body: 'B' }, 'fcm', null, { title: 'T', body: 'B' }],
    [
      'a channel overrides field by field',
      { title: 'T', body: 'B', apns: { body: 'A' } },
      'apns',
      null,
      { title: 'T', body: 'A' },
    ],
    ['for itself alone', { title: 'T', apns: { title: 'A' } }, 'fcm', null, { title: 'T' }],
    ['null removes', { title: 'T', url: 'https://a.example/', fcm: { url: null } }, 'fcm', null, { title: 'T' }],
    ['null at the top is nothing', { title: 'T', url: null, ttl: null }, 'fcm', null, { title: 'T' }],
    ['null brings a default back', { title: 'T', ttl: 5, apns: { ttl: null } }, 'apns', null, { title: 'T' }],
    [
      'data is replaced as a whole',
      { title: 'T', data: { a: 1, b: 2 }, fcm: { data: { c: 3 } } },
      'fcm',
      null,
      { title: 'T', data: { c: 3 } },
    ],
    [
      'a language replaces field by field',
      { title: 'T', body: 'B', locales: { de: { title: 'D' } } },
      'fcm',
      'de',
      { title: 'D', body: 'B' },
    ],
    [
      'null in a language removes',
      { title: 'T', url: 'https://a.example/', locales: { de: { url: null } } },
      'fcm',
      'de',
      { title: 'T' },
    ],
    ['an empty language entry is the top level', { title: 'T', locales: { de: null } }, 'fcm', 'de', { title: 'T' }],
    [
      'the channel wins over the language',
      { title: 'T', locales: { de: { title: 'D' } }, fcm: { title: 'F' } },
      'fcm',
      'de',
      { title: 'F' },
    ],
    [
      'a null of the channel too',
      { title: 'T', locales: { de: { title: 'D' } }, fcm: { title: null, body: 'B' } },
      'fcm',
      'de',
      { body: 'B' },
    ],
    [
      'a subtitle of a language is for apns',
      { title: 'T', locales: { de: { subtitle: 'S' } } },
      'apns',
      'de',
      { title: 'T', subtitle: 'S' },
    ],
    ['and for no other', { title: 'T', locales: { de: { subtitle: 'S' } } }, 'fcm', 'de', { title: 'T' }],
    [
      'a language can remove nothing of apns',
      { title: 'T', locales: { de: { subtitle: null } }, apns: { subtitle: 'S' } },
      'apns',
      'de',
      { title: 'T', subtitle: 'S' },
    ],
    ['an app url is dropped for webpush', { title: 'T', url: 'shop://x' }, 'webpush', null, { title: 'T' }],
    ['and for no other channel', { title: 'T', url: 'shop://x' }, 'apns', null, { title: 'T', url: 'shop://x' }],
    [
      'an app url of a language as well',
      { title: 'T', url: 'https://a.example/', locales: { de: { url: 'shop://x' } } },
      'webpush',
      'de',
      { title: 'T' },
    ],
    [
      'an icon for browsers stays with them',
      { title: 'T', icon: 'https://a.example/i.png' },
      'webpush',
      null,
      { title: 'T', icon: 'https://a.example/i.png' },
    ],
    ['Android does not get it', { title: 'T', icon: 'https://a.example/i.png' }, 'fcm', null, { title: 'T' }],
    ['nor browsers an icon of Android', { title: 'T', icon: 'ic_bell' }, 'webpush', null, { title: 'T' }],
    ['which Android gets', { title: 'T', icon: 'ic_bell' }, 'fcm', null, { title: 'T', icon: 'ic_bell' }],
    ['apns has no icon', { title: 'T', icon: 'ic_bell', apns: { icon: 'ic_bell' } }, 'apns', null, { title: 'T' }],
    [
      'nulls inside are nothing',
      {
        title: 'T',
        apns: { sound: { name: 'a', volume: null } },
        webpush: { actions: [{ action: 'a', title: 'A', url: null }] },
      },
      'webpush',
      null,
      { title: 'T', actions: [{ action: 'a', title: 'A' }] },
    ],
  ])('%s', (_, content, channel, locale, merged) => {
    expect(mergeContent(parse(content), channel, locale)).toEqual({ ...defaults, ...merged });
  });

  test('tells when webpush loses a url', () => {
    expect(dropsUrl(parse({ title: 'T', url: 'shop://x' }), null)).toBe(true);
    expect(dropsUrl(parse({ title: 'T', url: 'shop://x', webpush: { url: 'https://a.example/' } }), null)).toBe(false);
    expect(dropsUrl(parse({ title: 'T', url: 'shop://x', webpush: { url: null } }), null)).toBe(false);
    expect(dropsUrl(parse({ title: 'T', url: 'https://a.example/' }), null)).toBe(false);
    expect(dropsUrl(parse({ title: 'T', locales: { de: { url: 'shop://x' } } }), 'de')).toBe(true);
  });

  test.each<[string, object, 'webpush' | 'apns' | 'fcm', boolean]>([
    ['content_available alone', { apns: { content_available: true } }, 'apns', true],
    ['content_available with a title', { title: 'T', apns: { content_available: true } }, 'apns', false],
    [
      'content_available with the title removed',
      { title: 'T', apns: { title: null, content_available: true } },
      'apns',
      true,
    ],
    ['data on apns', { title: 'T', apns: { title: null, data: { a: 1 } } }, 'apns', false],
    ['data on fcm', { data: { a: 1 } }, 'fcm', true],
    ['data with a body', { body: 'B', data: { a: 1 } }, 'fcm', false],
    ['content_available with a badge', { apns: { content_available: true, badge: 0 } }, 'apns', false],
    ['content_available with a sound', { apns: { content_available: true, sound: 'bell.caf' } }, 'apns', false],
    ['content_available with an empty sound', { apns: { content_available: true, sound: '' } }, 'apns', true],
    ['content_available with a blank title', { title: ' \u200b', apns: { content_available: true } }, 'apns', true],
    ['data on fcm with fields of a notification', { fcm: { data: { a: 1 }, sound: 'bell', tag: 't' } }, 'fcm', true],
    ['data on fcm with a blank body', { body: '\u00ad', data: { a: 1 } }, 'fcm', true],
    ['empty data', { title: 'T', fcm: { title: null, data: {} } }, 'fcm', false],
    ['data on webpush', { data: { a: 1 } }, 'webpush', false],
  ])('%s on its channel is a background push: %s', (_, content, channel, isBackground) => {
    expect(pushKindOf(channel, mergeContent(parse(content), channel, null)) === 'background').toBe(isBackground);
  });
});
