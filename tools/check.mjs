// The checks that every change must pass before it lands: types, format and lint, regular
// expressions, secrets, dead code, engines that Node 20 satisfies, width and links of Markdown.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { versionsThatDiffer } from './release/version.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
let failed = 0;

check('types of the API', ['tools/build.mjs', 'types']);
check('types of the packages', ['node_modules/typescript/bin/tsc', '-b']);
check('types of the console', ['node_modules/typescript/bin/tsc', '--noEmit', '-p', 'console']);
check('types of the tests', ['node_modules/typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.tests.json']);
check('format and lint', ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.']);
check('openapi.json is up to date', ['node_modules/tsx/dist/cli.mjs', 'tools/openapi.ts']);
check('regular expressions are linear', ['node_modules/tsx/dist/cli.mjs', 'tools/regexes.ts']);
check('no secret is tracked', ['node_modules/tsx/dist/cli.mjs', 'tools/scan-secrets.ts']);
check('dead code', ['node_modules/knip/bin/knip.js']);
checkEngines();
checkLock();
checkMarkdown();
checkLinks();
checkFigures();
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

/**
 * The lock file has the Node versions that each package supports. The oldest Node that we promise
 * must be among them.
 */
function checkEngines() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const refusing = Object.entries(packages)
    .filter(([, { engines, optional }]) => !optional && engines?.node && !admits20(engines.node))
    .map(([path, { version, engines }]) => `${path}@${version} asks for node ${engines.node}`);
  report('engines admit Node 20.19', refusing.length === 0, refusing.join('\n'));
}

/**
 * npm ci refuses a lock file that names an optional package without an entry. npm install leaves
 * such a name when a platform's build of a version was unavailable. We do not use such a version.
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

/**
 * Prose in Markdown wraps at 100 columns, so that a terminal and a diff show it whole. Tables, code
 * and link addresses may be wider, because Markdown cannot break them.
 */
function checkMarkdown() {
  const columnsMax = 100;
  const { stdout } = spawnSync('git', ['ls-files', '-z', '*.md'], { cwd: root, encoding: 'utf8' });
  const files = stdout.split('\0').filter((file) => file !== '');
  const wide = files.flatMap((file) => {
    let isCode = false;
    return readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => {
        if (line.trimStart().startsWith('```')) isCode = !isCode;
        if (isCode || line.trimStart().startsWith('|')) return [];
        const columns = [...line.replaceAll(/\]\([^)]*\)/g, ']')].length;
        return columns > columnsMax ? [`${file}:${index + 1} has ${columns} columns`] : [];
      });
  });
  report(`Markdown is at most ${columnsMax} columns wide`, files.length > 0 && wide.length === 0, wide.join('\n'));
}

/**
 * Links to files lead somewhere, and so do the paths of tests in docs/guarantees.md. A bare name in
 * that page stands in the folder of the path before it.
 */
function checkLinks() {
  const { stdout } = spawnSync('git', ['ls-files', '-z', '*.md'], { cwd: root, encoding: 'utf8' });
  const missing = stdout
    .split('\0')
    .filter((file) => file !== '')
    .flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8').replaceAll(/^```.*?^```/gms, '');
      const linked = [...text.matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)/g)]
        .map(([, link]) => link)
        .filter((link) => !/^[a-z]+:|^\//.test(link))
        .map((link) => join(dirname(file), link));
      const tests = file === 'docs/guarantees.md' ? [...text.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.ts)`/g)] : [];
      const named = tests.map(([, path]) => (/^(?:src|test)\//.test(path) ? join('server', path) : path));
      return [...linked, ...named].filter((path) => !existsSync(join(root, path))).map((path) => `${file}: ${path}`);
    });
  report('links of Markdown lead somewhere', missing.length === 0, missing.join('\n'));
}

/** Every figure of the benchmarks says at which commit it was taken. */
function checkFigures() {
  const file = 'bench/README.md';
  const cellsOf = (line) => line.split('|').slice(1, -1);
  let header = [];
  const nameless = readFileSync(join(root, file), 'utf8')
    .split('\n')
    .flatMap((line, index, lines) => {
      if (!line.startsWith('|')) return [];
      if (lines[index + 1]?.startsWith('|---')) header = cellsOf(line).map((cell) => cell.trim());
      if (line.startsWith('|---') || lines[index + 1]?.startsWith('|---') || header.includes('how')) return [];
      const commit = cellsOf(line)[header.indexOf('commit')]?.trim() ?? '';
      return /^[0-9a-f]{7,10}$/.test(commit) ? [] : [`${file}:${index + 1} names no commit`];
    });
  report('figures name their commit', header.length > 0 && nameless.length === 0, nameless.join('\n'));
}

/**
 * A simple reading of version ranges: some alternative must have a lower bound of at most 20.19.
 */
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
