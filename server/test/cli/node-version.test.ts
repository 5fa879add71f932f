// A Node.js that is too old: npm only warns of one, so the program and the build say it themselves.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const { describeOldNode } = await import(`${root}server/bin/node-version.mjs`);
const words = (version: string): string =>
  `Carillon needs Node.js 20.19 or newer, and this is ${version}: install a newer one from https://nodejs.org`;

describe('a Node.js that is too old', () => {
  it.each(['0.12.18', '16.20.2', '18.20.8', '20.9.0', '20.18.3'])('is %s, for one', (version) => {
    expect(describeOldNode(version)).toBe(words(version));
  });

  it.each(['20.19.0', '20.20.2', '21.0.0', '22.12.0', '24.1.0', '100.0.0'])('is not %s', (version) => {
    expect(describeOldNode(version)).toBeUndefined();
  });

  it('is one that the packages do not admit either', () => {
    for (const place of ['', 'server/', 'sandbox/', 'node/']) {
      const { engines } = JSON.parse(readFileSync(`${root}${place}package.json`, 'utf8'));
      expect(engines, place).toEqual({ node: '>=20.19' });
    }
  });

  it.each(['server/bin/carillon.mjs', 'tools/build.mjs'])(
    'ends %s before anything else, in one line',
    async (program) => {
      const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.8' } })`;
      const ended = promisify(execFile)(process.execPath, [
        '--import',
        `data:text/javascript,${encodeURIComponent(older)}`,
        `${root}${program}`,
        '--version',
      ]);
      await expect(ended).rejects.toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(new RegExp(`^(?:carillon: )?${words('18.20.8').replaceAll('.', '\\.')}\\n$`)),
      });
    },
  );
});
