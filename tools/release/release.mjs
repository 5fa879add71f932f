// Makes a release: npm run release -- VERSION, or npm run release -- --dry-run to see it without
// making it. It writes into release/, which Git ignores: the service and the two SDKs as tarballs,
// their contents (CycloneDX), checksums, and the changelog's section. It publishes nothing.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeSbom } from '../sbom.mjs';
import { sectionOfNext, withRelease } from './changelog.mjs';
import { makeServiceTree, pack } from './service-tree.mjs';
import { setVersion, versionsThatDiffer } from './version.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const run = (program, parameters, options) =>
  execFileSync(program, parameters, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], ...options });

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'dry-run': { type: 'boolean' }, out: { type: 'string', default: join(root, 'release') } },
});
const isDry = values['dry-run'] ?? false;
const current = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;
const version = positionals[0] ?? current;

try {
  release();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

function release() {
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) throw new Error(`${version} is no version: MAJOR.MINOR.PATCH`);
  const differing = versionsThatDiffer();
  if (differing.length > 0)
    throw new Error(`${differing.join(', ')} must have the version of package.json, ${current}`);
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const section = sectionOfNext(changelog);
  if (!isDry) beginRelease(changelog);
  run(process.execPath, [join(root, 'tools/build.mjs')]);
  const files = makeFiles(section);
  for (const file of files) process.stdout.write(`${file}\n`);
  if (isDry)
    process.stdout.write(
      'Nothing in the checkout was changed. `npm run release -- VERSION` makes the commit and the tag too.\n',
    );
  else finishRelease();
}

function beginRelease(changelog) {
  if (run('git', ['status', '--porcelain']).trim() !== '') throw new Error('There are changes that are not committed');
  if (run('git', ['tag', '--list', `v${version}`]).trim() !== '') throw new Error(`v${version} was released before`);
  const day = new Date().toISOString().slice(0, 10);
  // A release requires that the registry knows no advisory against its run-time packages.
  run(process.execPath, [join(root, 'tools/audit.mjs'), '--required'], { stdio: 'inherit' });
  setVersion(version);
  writeFileSync(join(root, 'CHANGELOG.md'), withRelease(changelog, version, day));
}

function finishRelease() {
  run('git', ['commit', '--quiet', '--all', '--message', `Release ${version}`]);
  run('git', ['tag', '--annotate', `v${version}`, '--message', `Carillon ${version}`]);
  process.stdout.write(`Committed and tagged v${version}. Push both, then publish the files of release/.\n`);
}

function makeFiles(section) {
  const out = values.out;
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), 'carillon-release-'));
  try {
    const tree = join(work, `carillon-${version}`);
    makeServiceTree(tree);
    pack(tree, join(out, `carillon-${version}.tgz`));
    writeFileSync(
      join(out, `carillon-${version}.cdx.json`),
      makeSbom(tree, ['packages/postgres', 'server', 'sandbox']),
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  for (const name of ['node', 'web']) run('npm', ['pack', '--workspace', name, '--pack-destination', out, '--silent']);
  writeFileSync(join(out, `CHANGELOG-${version}.md`), `${section}\n`);
  const names = readdirSync(out).sort();
  const sums = names.map((name) => `${sha256Of(join(out, name))}  ${name}\n`);
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''));
  return [...names, 'SHA256SUMS'].map((name) => join(out, name));
}

function sha256Of(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}
