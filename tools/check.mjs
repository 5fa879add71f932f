// What every change must pass before it lands: types, format and lint, regular expressions, secrets, dead code, and engines that Node 20
// satisfies.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { versionsThatDiffer } from './release/version.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
let failed = 0;

check('types of the packages', ['node_modules/typescript/bin/tsc', '-b']);
check('types of the tests', ['node_modules/typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.tests.json']);
check('format and lint', ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.']);
check('openapi.json is up to date', ['node_modules/tsx/dist/cli.mjs', 'tools/openapi.ts']);
check('types of the API are up to date', ['node_modules/tsx/dist/cli.mjs', 'tools/api-types.ts']);
check('regular expressions are linear', ['node_modules/tsx/dist/cli.mjs', 'tools/regexes.ts']);
check('no secret is tracked', ['node_modules/tsx/dist/cli.mjs', 'tools/scan-secrets.ts']);
check('dead code', ['node_modules/knip/bin/knip.js']);
checkEngines();
checkLock();
report('packages have one version', versionsThatDiffer().length === 0, versionsThatDiffer().join('\n'));
process.exitCode = failed === 0 ? 0 : 1;

function check(name, parameters) {
  const [program, ...rest] = parameters;
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, program), ...rest], {
    cwd: root,
    encoding: 'utf8',
  });
  report(name, status === 0, `${stdout}${stderr}`);
}

/** The lock file says what each package asks of Node; the oldest Node we promise must satisfy all of it. */
function checkEngines() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const refusing = Object.entries(packages)
    .filter(([, { engines, optional }]) => !optional && engines?.node && !admits20(engines.node))
    .map(([path, { version, engines }]) => `${path}@${version} asks for node ${engines.node}`);
  report('engines admit Node 20.19', refusing.length === 0, refusing.join('\n'));
}

/**
 * npm ci refuses a lock file that names an optional package without an entry, which npm install leaves behind when a
 * platform's build of a version was not to be had. Such a version is not for us.
 */
function checkLock() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const missing = Object.entries(packages).flatMap(([place, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !packages[`node_modules/${name}`] && !packages[`${place}/node_modules/${name}`])
      .map((name) => `${place} names ${name}, which has no entry`),
  );
  report('the lock file is whole', missing.length === 0, missing.join('\n'));
}

/** A small reading of ranges: any alternative whose lower bound is at most 20.19. */
function admits20(range) {
  return range.split('||').some((alternative) => {
    const [, major = '0', minor = '0'] = /(\d+)(?:\.(\d+))?/.exec(alternative) ?? [];
    if (/^\s*\^|^\s*~/.test(alternative)) return Number(major) === 20 && Number(minor) <= 19;
    return Number(major) < 20 || (Number(major) === 20 && Number(minor) <= 19);
  });
}

function report(name, isGood, output) {
  process.stdout.write(`${isGood ? 'ok  ' : 'FAIL'}  ${name}\n`);
  if (isGood) return;
  failed++;
  process.stdout.write(`${output.trimEnd()}\n`);
}
