import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { describeDataDirectoryError, findDataDirectory, makeDataDirectory } from './data-directory.ts';

const folder = mkdtempSync(join(tmpdir(), 'carillon-data-directory-'));
afterAll(() => rmSync(folder, { recursive: true }));
const advice = `choose a folder that the user ${userInfo().username} can write, with DATA_DIR=…`;

describe('a data directory', () => {
  it('is made with its parents, and found again', async () => {
    const path = join(folder, 'a/b/c');
    expect(await findDataDirectory(path)).toBeUndefined();
    expect(await makeDataDirectory(path)).toBe(path);
    expect(statSync(path).isDirectory()).toBe(true);
    expect(await makeDataDirectory(path)).toBe(path);
    expect(await findDataDirectory(path)).toBe(path);
  });

  it('is refused where a file has its name or stands in its path', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    for (const path of [file, join(file, 'data')]) {
      const refusal = `DATA_DIR ${path} is a file, or a part of its path is one (ENOTDIR): ${advice}`;
      await expect(findDataDirectory(path)).rejects.toThrow(refusal);
      await expect(makeDataDirectory(path)).rejects.toThrow(/is a file, or a part of its path is one/);
    }
  });

  it.runIf(process.platform === 'linux')('is refused where the system lets nobody make folders', async () => {
    await expect(makeDataDirectory('/proc/carillon/data')).rejects.toThrow(
      `DATA_DIR /proc/carillon/data cannot be made there (ENOENT): ${advice}`,
    );
  });

  it.each([
    ['EACCES', 'cannot be used by this user'],
    ['EPERM', 'cannot be used by this user'],
    ['EROFS', 'is on a file system that cannot be written'],
    ['ENOSPC', 'is on a full disk'],
  ])('is refused at %s, with the reason and what to do', (code, words) => {
    const error = Object.assign(new Error('mkdir'), { code });
    expect(describeDataDirectoryError(error, '/data')).toMatchObject({
      message: `DATA_DIR /data ${words} (${code}): ${advice}`,
      cause: error,
    });
  });

  it('leaves any other error as it is', () => {
    const error = new Error('something else');
    expect(describeDataDirectoryError(error, '/data')).toBe(error);
  });
});
