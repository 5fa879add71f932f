import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { shapeOf } from './body-shape.ts';
import { scanJson } from './scan-json.ts';
import { component, list } from './schemas.ts';

const node: z.ZodType = component(
  'ScannedNode',
  z.lazy(() => z.union([z.strictObject({ all: z.array(node).max(2) }), z.strictObject({ word: z.string() })])),
);
const schema = z.strictObject({
  tree: z.unknown().meta({ type: 'object', shape: 'ScannedNode' }).nullish(),
  branch: z.unknown().meta({ type: 'object', shape: 'ScannedNode' }).nullish(),
  name: z.string().nullish(),
  ids: list(z.string(), { most: 3 }).nullish(),
  tags: z.record(z.string(), z.string()).optional(),
  sound: z.union([z.string(), z.strictObject({ name: z.string() })]).optional(),
  deep: z.strictObject({ at: list(z.strictObject({ x: z.int() }), { most: 2 }) }).optional(),
  anything: z.unknown().optional(),
});
const shape = shapeOf(schema);

/** The text that is left to be parsed. */
function left(text: string): string {
  const bytes = Buffer.from(text);
  const { excess, dropped } = scanJson(bytes, shape);
  expect(excess).toBeNull();
  let kept = '';
  let at = 0;
  for (let i = 0; i < dropped.length; i += 2) {
    kept += bytes.toString('utf8', at, dropped[i]);
    at = dropped[i + 1] ?? at;
  }
  return kept + bytes.toString('utf8', at);
}

describe('what can be part of a body is left whole', () => {
  it.each([
    '{"name":"a","ids":["1","2","3"],"tags":{"x":"1"},"sound":{"name":"s"}}',
    '{"deep":{"at":[{"x":1},{"x":2}]},"anything":[[{"a":[[]]},{}],{"b":{}}]}',
    '{"name":null,"sound":"s","unknown":1,"name":"[{,:}]\\"[{"}',
    ' { "n\\u0061me" : "a" , "deep" : { "at" : [ ] } } ',
    '{}',
    '[]',
    '1',
    '',
  ])('%s', (text) => expect(left(text)).toBe(text === '[]' ? '[]' : text));
});

describe('what cannot be is left out, and its place says the same', () => {
  it.each([
    ['lists in the place of a text', '{"name":[[1],[2,{"a":3}]],"ids":[]}', '{"name":[],"ids":[]}'],
    ['objects in the place of a text', '{"ids":["a",{"b":{"c":1}},["d"]]}', '{"ids":["a",{},[]]}'],
    ['objects and lists below an unknown field', '{"what":{"a":{"b":1}},"name":"x"}', '{"what":{},"name":"x"}'],
    ['a body that is a list', '[{"name":"a"},{"name":"b"}]', '[]'],
    [
      'items beyond the first that is too many',
      '{"ids":["1","2","3","4","5","6"],"name":"x"}',
      '{"ids":["1","2","3","4"],"name":"x"}',
    ],
    [
      'objects beyond it',
      '{"deep":{"at":[{"x":1},{"x":2},{"x":3},{"x":[4]},{}]}}',
      '{"deep":{"at":[{"x":1},{"x":2},{"x":3}]}}',
    ],
    ['values of a record that are no text', '{"tags":{"a":{"b":1},"c":"d"}}', '{"tags":{"a":{},"c":"d"}}'],
    [
      'lists where a schema that contains itself has none, wherever it is named',
      '{"tree":{"all":[{"word":[1]},[2]]},"branch":{"all":[{"all":[{"word":{"a":1}}]}]}}',
      '{"tree":{"all":[{"word":[]},[]]},"branch":{"all":[{"all":[{"word":{}}]}]}}',
    ],
    ['an escaped name', '{"n\\u0061me":[1]}', '{"n\\u0061me":[]}'],
  ])('%s', (_what, text, kept) => expect(left(text)).toBe(kept));
});

describe('of unknown fields fifty are left', () => {
  const many = (from: number, to: number): string =>
    Array.from({ length: to - from }, (_, i) => `"u${from + i}":${i}`).join(',');

  it('wherever the known ones stand', () => {
    expect(left(`{"name":"a",${many(0, 70)},"ids":[]}`)).toBe(`{"name":"a",${many(0, 50)},"ids":[]}`);
    expect(left(`{${many(0, 70)}}`)).toBe(`{${many(0, 50)}}`);
    expect(left(`{${many(0, 50)},"deep":{${many(50, 60)},"at":[{${many(60, 70)}}]},${many(70, 80)}}`)).toBe(
      `{${many(0, 50)},"deep":{"at":[{}]}}`,
    );
    expect(left(`{${many(0, 50)},"deep":{"a":[1],"at":[{"x":1,${many(60, 70)}}],"b":2}}`)).toBe(
      `{${many(0, 50)},"deep":{"at":[{"x":1}]}}`,
    );
  });
});

it('R-70 depth and members are counted where nothing is parsed, too', () => {
  const members = Array.from({ length: 1001 }, (_, i) => `"${i}":1`).join(',');
  const excessOf = (text: string): string | null => scanJson(Buffer.from(text), shape).excess;
  expect(excessOf(`{"name":{${members}}}`)).toBe('An object of the body has more than 1000 members.');
  expect(excessOf(`{"name":${'['.repeat(32)}`)).toBe('The body is nested deeper than 32 levels.');
  expect(excessOf(`{"name":${'['.repeat(31)}`)).toBeNull();
});
