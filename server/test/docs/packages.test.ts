// The published packages as a user gets them: the licence, and a README whose links lead somewhere.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);

async function filesOf(workspace: string): Promise<string[]> {
  const parameters = ['pack', '--dry-run', '--json', '--ignore-scripts', '--workspace', workspace];
  const [packed] = JSON.parse((await run('npm', parameters, { cwd: root })).stdout);
  return packed.files.map(({ path }: { path: string }) => path);
}

describe.each(['node', 'web', 'sandbox'])('the package %s', (name) => {
  const page = readFileSync(join(root, name, 'README.md'), 'utf8');

  it('contains the licence and its README, and no link of the README leaves the package', async () => {
    const files = await filesOf(name);
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
    expect(files.filter((path) => /\.(?:tsbuildinfo|map)$/.test(path))).toEqual([]);
    expect(readFileSync(join(root, name, 'LICENSE'), 'utf8')).toBe(readFileSync(join(root, 'LICENSE'), 'utf8'));
    const links = [...page.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, link = '']) => link);
    const local = links.filter((link) => !/^https?:/.test(link));
    expect(local.filter((link) => !files.includes(normalize(link)))).toEqual([]);
  });

  it('says how to install it today', () => {
    expect(page).toMatch(new RegExp(`npm pack --workspace ${name}\\b`));
    expect(page).toMatch(/npm install (?:--save-dev )?\S*carillon-\S*\.tgz/);
  });
});
