// The service as it is shipped: what runs, what an operator reads, and a lock file of only the
// run-time packages. The release's tarball and the container image hold the same tree. As a
// program: node tools/release/service-tree.mjs FOLDER
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Folders and files that are shipped unchanged from a built checkout. */
const shipped = [
  'carillon',
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'LICENSE',
  '.env.example',
  'docs',
  'deploy',
  'server/bin',
  'server/dist/program',
  'server/migrations',
  'server/pages',
  'server/demo',
  'web/dist',
  'console/dist',
  'sandbox/bin',
  'sandbox/dist',
  'sandbox/page',
];
/** Files of the build that are not needed at run time. */
const isLeft = (path) => /\.(tsbuildinfo|map|d\.ts)$|\/\.built$|\.test\.js$/.test(path);

/** A package is part of the server's program. The tree has only the list of what it needs. */
const workspaces = ['packages/postgres', 'server', 'sandbox'];

/** Makes the tree in `folder`, which must not exist yet. Needs a built checkout. */
export function makeServiceTree(folder) {
  mkdirSync(folder);
  for (const path of shipped) {
    cpSync(join(root, path), join(folder, path), { recursive: true, filter: (source) => !isLeft(source) });
  }
  const whole = readPackage('package.json');
  writePackage(join(folder, 'package.json'), {
    name: 'carillon',
    version: whole.version,
    private: true,
    description: whole.description,
    license: whole.license,
    type: whole.type,
    engines: whole.engines,
    workspaces,
    scripts: { start: 'node server/bin/carillon.mjs start' },
    overrides: whole.overrides,
  });
  for (const name of workspaces) {
    const { devDependencies: _left, ...rest } = readPackage(`${name}/package.json`);
    mkdirSync(join(folder, name), { recursive: true });
    writePackage(join(folder, name, 'package.json'), rest);
  }
  makeLock(folder);
}

// npm takes the tree's packages from the whole lock file, so that every version stays as tested.
function makeLock(folder) {
  const lockPath = join(folder, 'package-lock.json');
  cpSync(join(root, 'package-lock.json'), lockPath);
  execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const before = readPackage('package-lock.json').packages;
  for (const [path, { version }] of Object.entries(JSON.parse(readFileSync(lockPath, 'utf8')).packages)) {
    if (path.startsWith('node_modules/') && version !== before[path]?.version && version !== undefined) {
      throw new Error(`${path} would be shipped as ${version}, and ${before[path]?.version} was tested`);
    }
  }
}

/** Writes a tarball of `folder`; the folder's name is the first folder inside. */
export function pack(folder, file) {
  // Sorted and without an owner, so that the same tree gives the same list.
  const parameters = ['--create', '--gzip', '--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--file', file];
  execFileSync('tar', [...parameters, '--directory', dirname(folder), folder.slice(dirname(folder).length + 1)]);
}

const readPackage = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));
const writePackage = (path, content) => writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('name a folder that does not exist yet');
  makeServiceTree(folder);
}
