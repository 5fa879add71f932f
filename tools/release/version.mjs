// The version of Carillon stands in the root's package.json. The other packages repeat it, because `npm pack` asks each for
// its own; `npm run check` finds one that differs, and a release sets all of them.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));

/** The packages whose version is not that of the root. */
export function versionsThatDiffer() {
  const { version, workspaces } = read('package.json');
  return workspaces.filter((name) => read(`${name}/package.json`).version !== version);
}

/** Sets the version everywhere, in the lock file too. */
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
