import fc from 'fast-check';
import { Liquid } from 'liquidjs';
import { describe, expect, test } from 'vitest';
import { hasTags, readTemplate, TemplateSyntaxError } from './template-grammar.ts';

function problemOf(source: string): TemplateSyntaxError | null {
  try {
    readTemplate(source);
    return null;
  } catch (error) {
    if (error instanceof TemplateSyntaxError) return error;
    throw error;
  }
}

describe('R-74 a template', () => {
  test.each([
    'no tags at all, not even } or %} or }}',
    "Hi {{first_name | default: 'there'}}",
    'Hi {{ first_name|default:"there" }}!',
    '{{properties.plan}}',
    '{{ external_id }}{{ country }}{{ language }}{{ timezone }}',
    "{{ 'text' }}{{ 12 }}{{ -1.5 }}{{ true }}{{ nil }}",
    '{{-first_name-}} {{- properties.a-b -}}',
    '{{ properties.a- }}',
    '{{\u00a0first_name\u00a0}}',
    '{{\n first_name\t}}',
    '{{ first_name | upcase | downcase | capitalize | strip }}',
    "{{ first_name | truncate }}{{ first_name | truncate: 5 }}{{ first_name | truncate: 5, '…' }}",
    "{{ first_name | append: 'x' | prepend: properties.y }}",
    '{{ properties.n | round }}{{ properties.n | round: 2 | floor | ceil | plus: 1 | minus: -1 }}',
    '{{ \'it\\\'s\' }}{{ "a \\"b\\" \\\\ \\n\\t" }}',
    "{{ '}}' }}{{ '{{ first_name }}' }}",
    '{% if first_name %}a{% elsif country == "DE" %}b{% else %}c{% endif %}',
    "{% if properties.n >= 3 and properties.n < 10 or not first_name contains 'x' %}a{% endif %}",
    '{% if properties.a != blank %}a{% endif %}{% if properties.a == empty %}b{% endif %}',
    "{% if properties.plan | default: 'free' %}a{% endif %}",
    '{% unless properties.vip %}a{% elsif first_name %}b{% else %}c{% endunless %}',
    "{% case properties.plan | downcase %}{% when 'pro', 'team' or 1 %}a{% else %}b{% endcase %}",
    '{%- if first_name -%}a{%- endif -%}',
    '{%if first_name%}{%unless country%}x{%endunless%}{%endif%}',
    '{{ properties.size }}{{ properties.first }}{{ properties.and }}{{ properties.true }}{{ properties.__proto__ }}',
    `{{ properties.${'k'.repeat(64)} }}`,
    '{{first_name}}'.repeat(50),
  ])('%s is accepted', (source) => {
    expect(problemOf(source)).toBeNull();
  });

  test.each([
    '{{',
    '{{ }}',
    '{{}}',
    '{%',
    '{%}',
    '{% %}',
    '{{ first_name',
    '{{ first_name }',
    '{{ first_name %}',
    '{% if first_name }}a{% endif %}',
    '{{{ first_name }}}',
    '{{ first name }}',
    '{{ first_name country }}',
    '{{ first_name, country }}',
    '{{ first_name. }}',
    '{{ first_name.size }}',
    "{{ first_name['size'] }}",
    '{{ name }}',
    '{{ properties }}',
    '{{ properties. }}',
    '{{ properties . plan }}',
    '{{ properties.9lives }}',
    '{{ properties.größe }}',
    '{{ properties.a.b }}',
    "{{ properties['plan'] }}",
    '{{ properties[first_name] }}',
    `{{ properties.${'k'.repeat(65)} }}`,
    '{{ true.x }}',
    '{{ nil[0] }}',
    '{{ (1..3) }}',
    '{{ 1. }}',
    '{{ .5 }}',
    '{{ 5-3 }}',
    '{{ 1e3 }}',
    "{{ 'open }}",
    "{{ 'bad \\x escape' }}",
    "{{ 'a\\u0000' }}",
    '{{ ‘there’ }}',
    '{{ first_name == country }}',
    '{{ not first_name }}',
    '{{ and }}',
    '{{ first_name | }}',
    '{{ first_name || upcase }}',
    '{{ first_name | nope }}',
    '{{ first_name | constructor }}',
    '{{ first_name | __proto__ }}',
    '{{ first_name | split: "," }}',
    '{{ first_name | upcase: 1 }}',
    '{{ first_name | upcase 1 }}',
    '{{ first_name | default }}',
    '{{ first_name | default: }}',
    "{{ first_name | default: 'a', }}",
    "{{ first_name | default: 'a', allow_false: true }}",
    "{{ first_name | default: 'a' 'b' }}",
    "{{ first_name | truncate: 1, 'a', 2 }}",
    '{% for x in properties %}{% endfor %}',
    '{% assign x = 1 %}',
    '{% capture x %}{% endcapture %}',
    "{% include 'a' %}",
    "{% render 'a' %}",
    "{% layout 'a' %}",
    '{% raw %}{{ x }}{% endraw %}',
    '{% comment %}x{% endcomment %}',
    '{% # comment %}',
    '{% liquid if first_name %}',
    '{% echo first_name %}',
    '{% increment x %}',
    '{% constructor %}',
    '{% if %}a{% endif %}',
    '{% if first_name %}a',
    '{% if first_name %}a{% endunless %}',
    '{% if first_name %}a{% endif first_name %}',
    '{% if first_name = "a" %}a{% endif %}',
    '{% if first_name == %}a{% endif %}',
    '{% if first_name and %}a{% endif %}',
    '{% if first_name country and %}a{% endif %}',
    '{% if first_name == not country %}a{% endif %}',
    '{% if 1 < properties.n < 3 %}a{% endif %}',
    "{% if first_name | upcase == 'A' %}a{% endif %}",
    "{% if first_name == 'a' | upcase %}a{% endif %}",
    "{% if first_name == '%}' %}a{% endif %}",
    '{% if (first_name) %}a{% endif %}',
    '{% if first_name %}{% else %}{% else %}{% endif %}',
    '{% if first_name %}{% else %}{% elsif country %}{% endif %}',
    '{% if first_name %}{% else if country %}{% endif %}',
    '{% if first_name %}{% when 1 %}{% endif %}',
    '{% unless first_name %}{% else %}{% elsif country %}{% endunless %}',
    '{% else %}',
    '{% endif %}',
    '{% case %}{% endcase %}',
    '{% case first_name %}{% when %}{% endcase %}',
    "{% case first_name %}{% when 'a', %}{% endcase %}",
    "{% case first_name %}{% when 'a' 'b' %}{% endcase %}",
    "{% case first_name %}{% when 'a' and 'b' %}{% endcase %}",
    "{% case first_name %}{% else %}{% when 'a' %}{% endcase %}",
    '{% case first_name %}{% elsif country %}{% endcase %}',
    '{{first_name}}'.repeat(51),
  ])('%s is refused', (source) => {
    expect(problemOf(source)).toBeInstanceOf(TemplateSyntaxError);
  });

  test.each([
    ['{{ name }}', ['first_name', 'external_id', 'country', 'language', 'timezone', 'properties.<key>']],
    ['{% for %}', ['if', 'unless', 'case', 'elsif', 'else', 'when', 'endif', 'endunless', 'endcase']],
  ])('the refusal of %s lists what is allowed', (source, allowed) => {
    expect(problemOf(source)?.allowed).toEqual(allowed);
  });

  test('the refusal of an unknown filter lists the eighteen', () => {
    expect(problemOf('{{ first_name | size }}')?.allowed).toHaveLength(18);
  });

  test('names what it reads, and the literal text around its tags', () => {
    const parts = readTemplate(
      "A {{first_name | default: properties.nick}} b {% if properties.n > 1 %}c{% endif %}{{ 'properties.not' }}",
    );
    expect([...parts.attributes]).toEqual(['first_name']);
    expect([...parts.propertyKeys]).toEqual(['nick', 'n']);
    expect(parts.texts).toEqual(['A ', ' b ', 'c', '', '']);
  });

  test('a text without opening braces has no tags', () => {
    expect(hasTags('50 % off {now} }} %}')).toBe(false);
    expect(hasTags('{{')).toBe(true);
    expect(hasTags('{%')).toBe(true);
  });
});

// A template that the grammar accepts must mean the same to liquidjs. liquidjs's own analysis
// proves it: if it read a tag differently, it would find other variables.
const blank = fc.constantFrom('', ' ', '  ', '\n', '\u00a0');
const someBlank = fc.constantFrom(' ', '\t ');
const variable = fc.oneof(
  fc.constantFrom('first_name', 'external_id', 'country', 'language', 'timezone'),
  fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_-]{0,8}$/).map((key) => `properties.${key}`),
  fc.constantFrom('properties.size', 'properties.first', 'properties.or', 'properties.contains', 'properties.nil'),
);
const literal = fc.constantFrom(
  "'a'",
  '"b"',
  "''",
  "'it\\'s'",
  '1',
  '-2.5',
  'true',
  'nil',
  'blank',
  "'{{ x }}'",
  "' or '",
);
const operand = fc.oneof(variable, variable, literal);
const filter = fc.oneof(
  fc.constantFrom('upcase', 'strip', 'truncate', 'round'),
  fc
    .tuple(fc.constantFrom('default', 'append', 'plus'), blank, operand)
    .map(([name, gap, value]) => `${name}:${gap}${value}`),
  fc.tuple(operand, operand).map(([length, end]) => `truncate: ${length}, ${end}`),
);
const filtered = fc
  .tuple(operand, fc.array(fc.tuple(blank, filter), { maxLength: 2 }))
  .map(([value, filters]) => value + filters.map(([gap, text]) => `${gap}| ${text}`).join(''));
const comparison = fc
  .tuple(fc.constantFrom('', 'not '), operand, fc.constantFrom('==', '!=', '<', '>=', ' contains '), blank, operand)
  .map(([not, left, operator, gap, right]) => `${not}${left}${gap}${operator}${gap}${right}`);
const condition = fc.oneof(
  filtered,
  fc
    .tuple(comparison, fc.array(fc.tuple(fc.constantFrom('and', 'or'), comparison), { maxLength: 2 }))
    .map(([first, rest]) => first + rest.map(([word, text]) => ` ${word} ${text}`).join('')),
);
const tag = (inside: fc.Arbitrary<string>, close: string): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom('', '-'), someBlank, inside, someBlank, fc.constantFrom('', '-'))
    .map(([left, gap, text, gapAfter, right]) => `{${close[0]}${left}${gap}${text}${gapAfter}${right}${close}`);
const output = tag(filtered, '}}').map((text) => text.replace(/^\{\}/, '{{'));
const statement = (inside: fc.Arbitrary<string>): fc.Arbitrary<string> => tag(inside, '%}');
const { template } = fc.letrec<{ template: string }>((tie) => ({
  template: fc
    .array(
      fc.oneof(
        { maxDepth: 2 },
        fc.constantFrom('text ', ' { } % ', '\n'),
        output,
        fc
          .tuple(statement(condition.map((text) => `if ${text}`)), tie('template'), tie('template'))
          .map(([open, yes, no]) => `${open}${yes}{% else %}${no}{% endif %}`),
        fc
          .tuple(statement(condition.map((text) => `unless ${text}`)), tie('template'))
          .map(([open, yes]) => `${open}${yes}{% endunless %}`),
        fc
          .tuple(
            statement(filtered.map((text) => `case ${text}`)),
            statement(fc.tuple(operand, operand).map(([a, b]) => `when ${a} or ${b}`)),
            tie('template'),
          )
          .map(([open, when, inner]) => `${open}${when}${inner}{% endcase %}`),
      ),
      { maxLength: 4 },
    )
    .map((parts) => parts.join('')),
}));

describe('R-74 the grammar and liquidjs agree', () => {
  const liquid = new Liquid({ strictFilters: true });

  test('on every template the grammar accepts: it parses, and reads the same variables', () => {
    let accepted = 0;
    fc.assert(
      fc.property(template, (source) => {
        if (problemOf(source)) return;
        accepted++;
        const parts = readTemplate(source);
        const names = [...parts.attributes, ...[...parts.propertyKeys].map((key) => `properties.${key}`)];
        const witnessed = liquid.globalVariableSegmentsSync(liquid.parse(source)).map((segments) => segments.join('.'));
        expect(new Set(witnessed)).toEqual(new Set(names));
      }),
      { numRuns: 2000 },
    );
    expect(accepted).toBeGreaterThan(1500);
  });

  test('accepted fragments of tags also parse', () => {
    const piece = fc.constantFrom(
      ...[
        '{{',
        '}}',
        '{%',
        '%}',
        '-',
        ' ',
        "'",
        '"',
        '\\',
        '|',
        ':',
        ',',
        '.',
        '==',
        '<',
        '1',
        'x',
        '[',
        ']',
        '(',
        ')',
      ],
      ...['first_name', 'properties.a', 'if', 'endif', 'else', 'case', 'when', 'or', 'not', 'upcase', 'default', 'raw'],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        const source = pieces.join('');
        if (problemOf(source)) return;
        expect(() => liquid.parse(source)).not.toThrow();
      }),
      { numRuns: 20000 },
    );
  });

  test('no text makes the reader throw any error but its own', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), fc.constantFrom('', '{{', '{% if '), (text, start) => {
        problemOf(start + text);
      }),
      { numRuns: 2000 },
    );
  });
});
