// Carillon's version is in the root's package.json. The other packages repeat it, because `npm
// pack` reads it from each. `npm run check` finds one that differs, and a release sets all of them.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));

/** The packages whose version differs from the root's. */
export function versionsThatDiffer() {
  const { version, workspaces } = read('package.json');
  return workspaces.filter((name) => read(`${name}/package.json`).version !== version);
}

/** Sets the version in every package and in the lock file. */
export function setVersion(version) {
  const parameters = [
    'version',
    version,
    '--no-git-tag-version',
    '--allow-same-version',
    '--include-workspace-root',
    '--workspaces',
  ];
  execFileSync('npm', [...parameters, '--no-audit', '--no-fund'], { cwd: root, stdio: 'ignore' });
}
