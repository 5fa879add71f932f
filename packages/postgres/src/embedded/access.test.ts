import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeAccess } from './access.ts';

test('the rules are whole at any time while other commands write them again', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'carillon-access-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await writeAccess(directory, ['carillon', 'service'], undefined);
  const paths = (await readdir(directory)).map((name) => join(directory, name));
  const read = () => Promise.all(paths.map((path) => readFile(path, 'utf8')));
  const rules = await read();
  expect(rules.join('')).toContain('local all carillon,service');

  let isWriting = true;
  const writers = Array.from({ length: 4 }, async () => {
    for (let i = 0; i < 50; i++) await writeAccess(directory, ['carillon', 'service'], undefined);
  });
  const written = Promise.all(writers).finally(() => {
    isWriting = false;
  });
  const different: string[][] = [];
  while (isWriting) {
    const seen = await read();
    if (seen.join() !== rules.join()) different.push(seen);
  }
  await written;
  expect(different).toEqual([]);
  expect((await readdir(directory)).length).toBe(paths.length);
});

test('no file is followed that the database user put in the place of a rule', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'carillon-access-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const victim = join(directory, 'victim');
  await writeFile(victim, 'untouched');
  await symlink(victim, join(directory, 'carillon_hba.conf'));
  await writeAccess(directory, ['carillon', 'service'], undefined);
  expect(await readFile(victim, 'utf8')).toBe('untouched');
  expect(await readFile(join(directory, 'carillon_hba.conf'), 'utf8')).toContain('local all carillon,service');
});
