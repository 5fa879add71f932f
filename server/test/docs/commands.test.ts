// The commands that documents and pages tell people to type: the launcher must exist, and no name
// may refer to a registry's package that is not ours.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);

/** Every text that people read: documents, pages and messages. */
const texts = ['.', 'docs', 'node', 'web', 'sandbox', 'bench', 'proof', 'server/demo', 'server/pages'].flatMap(
  (folder) =>
    readdirSync(join(root, folder))
      .filter((name) => /\.(md|html|js)$/.test(name))
      .map((name) => join(folder, name)),
);

it('no document and no page tells people to fetch a `carillon` from a registry', () => {
  expect(texts).toContain('README.md');
  expect(texts).toContain('docs/api.md');
  const telling = texts.filter((path) => /npx [^\n]*carillon/.test(readFileSync(join(root, path), 'utf8')));
  expect(telling).toEqual([]);
});

it('no page for operators and callers names a command without the launcher', () => {
  const main = readFileSync(join(root, 'server/src/main.ts'), 'utf8');
  const names = [...main.matchAll(/names: \['([^\]]+)'\]/g)].flatMap(([, list = '']) => list.split("', '"));
  expect(names).toContain('identify-secret');
  const command = new RegExp(`(?:^|[^./\\w-])carillon (?:${names.join('|')})\\b`);
  const pages = [...texts.filter((path) => !/^(?:CHANGELOG|ARCHITECTURE|bench|proof)/.test(path)), '.env.example'];
  const bare = pages.flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .flatMap((line) => (command.test(line) ? [`${path}: ${line}`] : [])),
  );
  expect(bare).toEqual([]);
});

it('./carillon runs the command line, from any folder and through a link', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-launcher-'));
  whenDone(async () => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(root, 'carillon'), join(folder, 'chimes'));
  for (const program of [join(root, 'carillon'), join(folder, 'chimes')]) {
    const { stdout } = await run(program, ['key', '--help'], { cwd: folder });
    expect(stdout).toContain('Usage: carillon key');
  }
});

it('no message of the program names a command without the launcher that this place has', () => {
  const folder = join(root, 'server/src');
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  expect(sources).toContain('operation/cli/doctor-findings.ts');
  // A message says `programName`, which is ./carillon in a checkout.
  const bare = sources.filter((name) => /: carillon [a-z]/.test(readFileSync(join(folder, name), 'utf8')));
  expect(bare).toEqual([]);
});
