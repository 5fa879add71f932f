// Makes the worst refused bodies of a route from the schema of its body. In each place of it, and
// around all, it puts JSON that is costly to read for its size (R-103).
import { type JsonSchema, jsonSchemaOf } from '../../../server/src/ground/http/body-shape.ts';

export interface WorstBody {
  /** The kind of junk and its place. */
  readonly name: string;
  /** The bytes of a body of about this size. */
  make(bytes: number): Buffer;
}

type Path = readonly (string | number)[];

const repeat = (text: (i: number) => string, bytes: number): string => {
  const parts: string[] = [];
  for (let i = 0, count = 0; count < bytes; i++) {
    const part = text(i);
    parts.push(part);
    count += part.length + 1;
  }
  return parts.join(',');
};
const listOf =
  (text: (i: number) => string) =>
  (bytes: number): string =>
    `[${repeat(text, bytes)}]`;
const textOf =
  (piece: string) =>
  (bytes: number): string =>
    `"${piece.repeat(Math.ceil(bytes / piece.length))}"`;
const nameOf = (i: number): string => `"${i.toString(36)}"`;
const membersOf = (count: number, from: number): string =>
  `{${Array.from({ length: count }, (_, i) => `${nameOf(from + i)}:1`).join(',')}}`;

/** Texts of JSON that cost much to read for their bytes. */
const junk: Readonly<Record<string, (bytes: number) => string>> = {
  'objects of one name each': listOf((i) => `{${nameOf(i)}:1}`),
  'objects of 1,000 names': listOf((i) => membersOf(1000, i * 1000)),
  'one object of 1,000 objects': (bytes) =>
    `{${Array.from({ length: 1000 }, (_, i) => `${nameOf(i)}:${listOf((j) => `{${nameOf(i * 1000 + j)}:1}`)(bytes / 1000)}`).join(',')}}`,
  'lists 24 deep': listOf(() => '['.repeat(24) + ']'.repeat(24)),
  'empty lists': listOf(() => '[]'),
  'empty objects': listOf(() => '{}'),
  'short numbers': listOf(() => '1'),
  'long numbers': listOf((i) => `1.${'7'.repeat(30)}${i}e-300`),
  'short texts': listOf(nameOf),
  'texts of nothing': listOf(() => '""'),
  'long text': textOf('x'),
  digits: textOf('1'),
  hyphens: textOf('a-'),
  'escaped letters': textOf('\\u0041'),
  'surrogate pairs': textOf('\\ud83d\\udd14'),
  templates: textOf("{{ first_name | append: 'x' | upcase }}"),
  'open templates': textOf('{{'),
  url: (bytes) => `"https://a.example/${'%zz/../'.repeat(Math.ceil(bytes / 7))}"`,
};

const dense = (bytes: number): string => junk['objects of one name each']?.(bytes) ?? '';

/** The kinds that are tried in each place; the place of an unknown field has all. */
const junkOfPlaces: readonly string[] = [
  'objects of one name each',
  'short numbers',
  'long text',
  'hyphens',
  'templates',
];
/**
 * The number of places of a schema that are tried, evenly chosen, because places of channels and
 * languages are alike.
 */
const placesMax = 40;

/** Junk around or beside everything, whatever the schema is. */
function wholes(example: string): WorstBody[] {
  const opened = example.trimEnd().slice(0, -1);
  const comma = opened.trim() === '{' ? '' : ',';
  const make = (name: string, text: (bytes: number) => string): WorstBody => ({
    name,
    make: (bytes) => Buffer.from(text(bytes)),
  });
  const cut = (of: string): WorstBody => make(`${of}, no end`, (bytes) => (junk[of]?.(bytes) ?? '').slice(0, -1));
  return [
    make('unknown fields', (bytes) => `${opened}${comma}${membersOf(950, 0).slice(1, -1)},"x":"${'x'.repeat(bytes)}"}`),
    make(
      '1,001 unknown fields',
      (bytes) => `${opened}${comma}"x":"${'x'.repeat(bytes)}",${membersOf(1001, 0).slice(1)}`,
    ),
    make(
      'long unknown names',
      (bytes) =>
        `${opened}${comma}${Array.from({ length: 60 }, (_, i) => `"${'x'.repeat(bytes / 60)}${i}":1`).join(',')}}`,
    ),
    make(
      'one field again and again',
      (bytes) => `${opened}${comma}${Array.from({ length: 900 }, () => `"x":"${'x'.repeat(bytes / 900)}"`).join(',')}}`,
    ),
    make('U+0000 behind much', (bytes) => `${opened}${comma}"x":${junk['empty lists']?.(bytes) ?? ''},"y":"\\u0000"}`),
    {
      name: 'no UTF-8',
      make: (bytes) =>
        Buffer.concat([Buffer.from(`${opened}${comma}"x":"${'x'.repeat(bytes)}`), Buffer.from([0xff, 0x22, 0x7d])]),
    },
    ...[
      'objects of one name each',
      'lists 24 deep',
      'short numbers',
      'short texts',
      'long text',
      'escaped letters',
    ].map(cut),
  ];
}

/** The worst bodies of a schema, each made from its example. */
export function worstBodiesOf(schema: Parameters<typeof jsonSchemaOf>[0], example: unknown): WorstBody[] {
  const text = JSON.stringify(example);
  const places = placesIn(jsonSchemaOf(schema), []);
  const each = Math.max(1, Math.ceil(places.length / placesMax));
  return [
    ...wholes(text),
    ...Object.entries(junk).map(([name, of]) => ({
      name: `${name} alone`,
      make: (bytes: number) => Buffer.from(of(bytes)),
    })),
    ...[['unknown'], ...places.filter((_place, i) => i % each === 0)].flatMap((place, i) =>
      Object.entries(junk)
        .filter(([name]) => i === 0 || junkOfPlaces.includes(name))
        .map(([name, of]) => ({
          name: `${name} at ${place.join('.')}`,
          make: (bytes: number) => Buffer.from(withJunk(example, place, of(Math.max(16, bytes - text.length)))),
        })),
    ),
  ];
}

const depthMax = 4;

function placesIn(schema: JsonSchema, path: Path): Path[] {
  if (path.length >= depthMax) return [];
  const choices = schema.anyOf ?? (schema.properties ? undefined : schema.oneOf) ?? [];
  const found = choices.flatMap((choice) => placesIn(choice, path));
  const step = (key: string | number, inner: JsonSchema): Path[] => [
    [...path, key],
    ...placesIn(inner, [...path, key]),
  ];
  for (const [name, inner] of Object.entries(schema.properties ?? {})) found.push(...step(name, inner));
  const { additionalProperties: others, items } = schema;
  if (typeof others === 'object') found.push(...step('de', others));
  if (items) found.push(...step(0, items));
  return [...new Map(found.map((each) => [each.join('.'), each])).values()];
}

const mark = '@junk@';

function withJunk(example: unknown, path: Path, text: string): string {
  return JSON.stringify(put(example, path)).replace(`"${mark}"`, () => text);
}

function put(value: unknown, [key, ...rest]: Path): unknown {
  if (key === undefined) return mark;
  if (typeof key === 'number') return [put(Array.isArray(value) ? value[0] : undefined, rest)];
  const holder = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  return { ...holder, [key]: put((holder as Record<string, unknown>)[key], rest) };
}

/** Nearly valid bodies, whose fault comes last, by method and path. */
export const lateFaults: Readonly<Record<string, readonly WorstBody[]>> = {
  'POST /v1/events': [
    { name: 'full events, the last without a name', make: (bytes) => eventsOf(bytes, textOf('x'), '{}') },
    { name: 'dense events, the last without a name', make: (bytes) => eventsOf(bytes, dense, '{}') },
    {
      name: 'dense events, the last too deep',
      make: (bytes) => eventsOf(bytes, dense, '{"name":"opened","properties":{"a":[[[[[]]]]]}}'),
    },
    { name: 'dense events, the last no JSON', make: (bytes) => eventsOf(bytes, dense, '{"name":nothing}') },
  ],
  'POST /v1/messages': [
    {
      name: 'a hundred languages of templates, one malformed',
      make(bytes) {
        const piece = "{{ first_name | append: 'x' | upcase | default: 'you' }} ";
        const lengths = { title: 1000, body: 2600 };
        const count = Math.max(2, Math.min(100, Math.floor(bytes / 3700)));
        const locales = Object.fromEntries(
          Array.from({ length: count }, (_, i) => {
            const tag = `a${String.fromCharCode(97 + Math.floor(i / 26))}${String.fromCharCode(97 + (i % 26))}`;
            const of = (length: number): string => piece.repeat(Math.floor(length / piece.length));
            return [tag, { title: of(lengths.title), body: i === count - 1 ? '{{ oops' : of(lengths.body) }];
          }),
        );
        return Buffer.from(JSON.stringify({ audience: { all: true }, content: { title: 'Sale', locales } }));
      },
    },
  ],
  ...Object.fromEntries(
    ['POST /v1/segments', 'POST /v1/segments/preview', 'PUT /v1/segments/:id'].map((route) => [
      route,
      (['language', 'country', 'properties.unknown'] as const).map((field) => ({
        name: `lists of ${field}, the last leaf wrong`,
        make(bytes: number) {
          const leaves = Math.max(1, Math.min(190, Math.floor(bytes / 5000)));
          const value = Array.from({ length: Math.min(1000, Math.floor(bytes / leaves / 5)) }, () => 'de');
          const and = [
            ...Array.from({ length: leaves }, () => ({ field, op: 'in', value })),
            { field: 'nowhere', op: 'eq' },
          ];
          return Buffer.from(
            JSON.stringify({ ...(route.endsWith('preview') ? {} : { name: 'Worst' }), filter: { and } }),
          );
        },
      })),
    ]),
  ),
};

function eventsOf(bytes: number, junkOf: (room: number) => string, last: string): Buffer {
  const count = Math.min(50, Math.max(2, Math.floor(bytes / 8000)));
  const room = Math.min(7900, bytes / count) - 60;
  const events = Array.from({ length: count - 1 }, () => `{"name":"opened","properties":{"a":${junkOf(room)}}}`);
  return Buffer.from(`{"events":[${[...events, last].join(',')}]}`);
}
