// The one rule of layout: a module imports only from rooms below its own. `ui` could live in any
// product, so it knows no router, no form and no query library.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('.', import.meta.url));
/** The rooms from the highest to the lowest. Rooms of one row may import each other. */
const rows = [
  ['main', 'routes'],
  ['pages'],
  ['forms'],
  ['components'],
  ['ui'],
  ['api'],
  ['theme', 'paths', 'failure-codes', 'failure-codes.gen', 'format', 'money'],
];
const rowOf = (file: string): number =>
  rows.findIndex((rooms) => rooms.includes(file.split('/')[0]?.replace(/\.tsx?$/, '') ?? ''));

interface Import {
  readonly from: string;
  readonly to: string;
}

const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
  (name) => /\.tsx?$/.test(name) && !name.endsWith('.test.ts'),
);
const imports: readonly Import[] = files.flatMap((from) =>
  [...readFileSync(join(root, from), 'utf8').matchAll(/(?:from|import\()\s*'([^']+)'/g)].map(([, to = '']) => ({
    from,
    to,
  })),
);

test('modules import from their own room and from rooms below it', () => {
  const upward = imports.flatMap(({ from, to }) => {
    if (!to.startsWith('.')) return [];
    const target = relative(root, join(root, dirname(from), to));
    // Types and examples of the server SDK come from another package.
    if (target.startsWith('..') || /\.(css|json)$/.test(target)) return [];
    return rowOf(target) >= rowOf(from) && rowOf(target) >= 0 ? [] : [`${from} imports ${target}`];
  });
  expect(imports.length).toBeGreaterThan(300);
  expect(upward).toEqual([]);
});

test('ui knows no router, no form, no query library and nothing of the API', () => {
  const strangers = imports.filter(
    ({ from, to }) =>
      from.startsWith('ui/') &&
      (/^(react-router|@tanstack\/react-query|@mantine\/form)/.test(to) || to.includes('/api/')),
  );
  expect(strangers).toEqual([]);
});

const filesWith = (pattern: RegExp): readonly string[] =>
  files.filter((file) => pattern.test(readFileSync(join(root, file), 'utf8')));

test('only the types that the build writes have addresses of the API', () => {
  expect(filesWith(/['"`]\/console\/api/)).toEqual(['api/types.gen.ts']);
});

test('only queries.ts makes the keys of the cache', () => {
  expect(filesWith(/queryKey: \[|QueryData\(\[/)).toEqual(['api/queries.ts']);
});
