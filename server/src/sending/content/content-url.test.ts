import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isWebUrl, urlProblem } from './content-url.ts';
import { parseTemplate } from './template.ts';
import { hasTags } from './template-grammar.ts';

/** The literal pieces of a url, as the schemas pass them to `urlProblem`. */
function textsOf(source: string): readonly string[] {
  if (!hasTags(source)) return [source];
  const parsed = parseTemplate(source, 'url');
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.template.texts;
}

const tag = '{{properties.x}}';

describe('R-38 the url that a tap opens', () => {
  test.each([
    'https://shop.example',
    'http://shop.example/a?b=c#d',
    'HTTPS://Shop.Example/',
    'https://shop.example:8443/x',
    'https://[2001:db8::1]/x',
    'https://münchen.example/straße',
    'shop://product/7',
    'com.example.app:item/7',
    'tel:+4930123456',
    `https://shop.example/${tag}`,
    `https://shop.example?${tag}`,
    `https://shop.example#${tag}`,
    `https://shop.example/{% if properties.x %}a{% else %}b{% endif %}`,
    `shop://product/${tag}`,
    `shop:///${tag}`,
    `shop:product/${tag}`,
    `shop:/p${tag}`,
    `shop:?x=${tag}`,
  ])('%s is accepted', (url) => {
    expect(urlProblem(textsOf(url), 'open')).toBeNull();
  });

  test.each([
    '',
    'shop.example',
    '/path',
    '//shop.example/',
    'https:',
    'https://',
    'https:shop.example',
    'https:/shop.example',
    'https:///shop.example',
    'https:// shop.example',
    'https://shop.example/a b',
    'https://shop.example\\@evil.example',
    'https://shop.example@evil.example/',
    'https://user:password@shop.example/',
    'https://shop.example:99999/',
    'https://sh%zz.example/',
    'https://1.2.3.4.5/',
    'shop:',
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'java\nscript:alert(1)',
    ' javascript:alert(1)',
    '\u0000javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://shop.example/x',
    'about:blank',
    'ws://shop.example/',
    'wss://shop.example/',
    tag,
    `${tag}://shop.example/`,
    `https${tag}://shop.example/`,
    `https:${tag}`,
    `https:/${tag}`,
    `https://${tag}`,
    `https://${tag}.example/`,
    `https://shop.example${tag}`,
    `https://shop.example${tag}/`,
    `https://shop.example:${tag}/`,
    `https://shop.example:80${tag}/`,
    `https:///${tag}`,
    `{% if properties.x %}https://a.example/{% else %}https://b.example/{% endif %}`,
    `shop:${tag}`,
    `shop:/${tag}`,
    `shop://${tag}`,
    `shop://item${tag}`,
    `shop:${tag}//evil.example/`,
    `javascript:${tag}`,
    `https://shop.example/${tag}\\`,
  ])('%j is refused', (url) => {
    expect(urlProblem(textsOf(url), 'open')).not.toBeNull();
  });
});

describe('a url for one purpose', () => {
  test.each([
    ['web', 'shop://product/7', false],
    ['web', 'http://shop.example/', true],
    ['web', 'https://shop.example/', true],
    ['https', 'http://shop.example/a.png', false],
    ['https', 'https://shop.example/a.png', true],
    ['https', 'shop://a.png', false],
  ] as const)('%s takes %s: %s', (use, url, isTaken) => {
    expect(urlProblem([url], use) === null).toBe(isTaken);
  });

  test('a browser opens http and https', () => {
    expect(isWebUrl('HTTPS://shop.example')).toBe(true);
    expect(isWebUrl('http://shop.example')).toBe(true);
    expect(isWebUrl('https.example:path')).toBe(false);
  });
});

describe('R-38 no value changes where a url leads', () => {
  const pieces = fc.constantFrom(
    ...[
      'https:',
      'shop:',
      'javascript:',
      '/',
      '//',
      '\\',
      '@',
      '?',
      '#',
      ':',
      '.',
      'shop.example',
      'evil.example',
      '80',
      '%2f',
    ],
    tag,
    '{% if properties.x %}',
    '{% endif %}',
  );
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('/', '//evil.example', '@evil.example', '.evil.example', ':8080', '\\', '?', ''),
  );

  test('scheme, host and port of whatever is accepted are the same for everybody', () => {
    fc.assert(
      fc.property(fc.array(pieces, { minLength: 1, maxLength: 8 }), hostile, hostile, (parts, one, other) => {
        const source = parts.join('');
        const parsed = parseTemplate(source, 'url');
        if (!parsed.ok || urlProblem(parsed.template.texts, 'open') !== null) return;
        const { template } = parsed;
        const originFor = (x: string | undefined): string => {
          const properties = new Map(x === undefined ? [] : [['x', x]]);
          const person = {
            firstName: null,
            externalId: null,
            country: null,
            language: null,
            timezone: null,
            properties,
          };
          const { protocol, host } = new URL(template.render(person, null));
          return `${protocol}//${host}`;
        };
        expect(originFor(one)).toBe(originFor(undefined));
        expect(originFor(other)).toBe(originFor(undefined));
      }),
      { numRuns: 3000 },
    );
  });
});
