import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { listOpenFiles } from './file-modes.ts';

it.each([
  [0o600, []],
  [0o400, []],
  [0o640, ['0640']],
  [0o604, ['0604']],
  [0o620, ['0620']],
  [0o644, ['0644']],
])('a file of mode %o is open to others: %j', async (mode, modes) => {
  const dir = await mkdtemp(join(tmpdir(), 'carillon-modes-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const path = join(dir, 'master.key');
  await writeFile(path, 'x');
  await chmod(path, mode);
  const found = await listOpenFiles([path, join(dir, 'missing')]);
  expect(found).toEqual(modes.map((each) => ({ path, mode: each })));
});
