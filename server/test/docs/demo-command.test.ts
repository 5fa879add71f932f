// `npm run demo` as a newcomer runs it, and the pictures that the documents show.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const linkForm = /https?:\/\/[^\s'"]+/g;

/** Runs the demo until it prints a line that matches, or until it ends. */
async function runDemo(parameters: readonly string[], last: RegExp) {
  const child = spawn(process.execPath, ['--import', 'tsx', 'tools/demo.ts', ...parameters], {
    cwd: root,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  whenDone(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (last.test(line)) break;
  }
  child.stdout.resume();
  return { text: lines.join('\n'), ended };
}

test('the demo ends well, and prints no link to what has ended with it', async () => {
  const { text, ended } = await runDemo([], /All of it ends now/);
  expect((await ended)[0]).toBe(0);
  expect(text.match(linkForm) ?? []).toEqual([]);
});

test('each link that the demo prints with --keep answers while it runs', async () => {
  const { text } = await runDemo(['--keep'], /until you press Ctrl-C/);
  const links = [...new Set(text.match(linkForm) ?? [])].filter((link) => !link.endsWith('/v1/messages'));
  expect(links.length).toBeGreaterThanOrEqual(3);
  expect(links.filter((link) => /\/console\/setup#./.test(link))).toHaveLength(1);
  for (const link of links) expect([link, (await fetch(link)).status]).toEqual([link, 200]);
  // The command that rings everybody again is a POST: without a key it is refused, so it is there.
  const send = (text.match(linkForm) ?? []).find((link) => link.endsWith('/v1/messages')) ?? '';
  expect((await fetch(send, { method: 'POST' })).status).toBe(401);
});

test('the script of the screenshots makes every picture that README and the documents show', () => {
  const script = readFileSync(join(root, 'e2e/src/screenshots.ts'), 'utf8');
  const made = [...script.matchAll(/'(docs\/images\/[^']+)'/g)].map(([, file = '']) => file);
  const pages = [
    'README.md',
    ...readdirSync(join(root, 'docs'))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ];
  const shown = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/\((?:docs\/)?(images\/[^)]+)\)/g)].map(
      ([, file]) => `docs/${file}`,
    ),
  );
  expect(shown).not.toEqual([]);
  expect(new Set(shown)).toEqual(new Set(made));
});
