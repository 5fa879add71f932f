// Builds the types that come from the API's description, the compiler's output for every package, the
// browser SDK's bundles and the console. Run as a program it builds all, or the one part it is given.
// `ensureBuilt` and `--if-stale` build only the parts that have a source newer than their last build.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeOldNode } from '../server/bin/node-version.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const packageSources = ['packages/http2/src', 'packages/postgres/src'];

/**
 * What is built, in this order. A part is stale when one of its sources is newer than its stamp, or
 * when a file that it writes among the sources is gone.
 * Compilers are resolved and never downloaded: a fresh machine has only what npm ci installed.
 */
const parts = [
  {
    name: 'types',
    command: ['node_modules/tsx/dist/cli.mjs', 'tools/api-types.ts'],
    sources: [...packageSources, 'server/src', 'tools/api-types.ts', 'tools/openapi-types.ts'],
    writes: ['node/src/types.gen.ts', 'console/src/api/types.gen.ts', 'console/src/failure-codes.gen.ts'],
  },
  {
    name: 'packages',
    command: ['node_modules/typescript/bin/tsc', '-b', root],
    sources: [
      ...packageSources,
      'server/src',
      'sandbox/src',
      'web/src',
      'node/src',
      'node/examples',
      'docs/identify.md',
    ],
  },
  { name: 'program', command: ['server/build.mjs'], sources: [...packageSources, 'server/src', 'server/build.mjs'] },
  { name: 'sdk', command: ['web/build.mjs'], sources: ['web/src', 'web/build.mjs'] },
  {
    name: 'console',
    command: ['console/build.mjs'],
    sources: ['src', 'public', 'index.html', 'vite.config.ts', 'build.mjs'].map((name) => `console/${name}`),
  },
];
const sourcesOfAll = ['tsconfig.base.json', 'package-lock.json'];

/**
 * Builds the stale parts. Returns the duration, or undefined when nothing had to be built. Rejects
 * with the compiler's words.
 */
export async function ensureBuilt({ log }) {
  if (!parts.some(isStale)) return undefined;
  const startedAt = performance.now();
  log('Building Carillon, once…');
  await build(isStale);
  const seconds = (performance.now() - startedAt) / 1000;
  log(`Built in ${seconds.toFixed(1)} s.`);
  return { seconds };
}

/** Writes the types that sources import, where they are stale or gone. */
export function ensureTypes() {
  return build((part) => part.name === 'types' && isStale(part));
}

function partsNamed(asked) {
  if (asked === undefined) return () => true;
  if (!parts.some(({ name }) => name === asked)) throw new Error(`no part of the build is named ${asked}`);
  return ({ name }) => name === asked;
}

/** Each part is asked for only after the parts before it, because these may write its sources. */
async function build(isChosen) {
  mkdirSync(join(root, 'server/dist'), { recursive: true });
  for (const part of parts) {
    if (!isChosen(part)) continue;
    const startedAt = new Date();
    await run(process.execPath, [join(root, part.command[0]), ...part.command.slice(1)]);
    writeFileSync(stampOf(part), '');
    // A source that changes while its part is built is newer than the stamp.
    utimesSync(stampOf(part), startedAt, startedAt);
  }
}

function stampOf({ name }) {
  return join(root, 'server/dist', `.built-${name}`);
}

function isStale(part) {
  const builtAt = statSync(stampOf(part), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (part.writes?.some((file) => !existsSync(join(root, file)))) return true;
  return [...part.sources, ...sourcesOfAll].some((source) => newestIn(join(root, source)) > builtAt);
}

function run(command, parameters) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, parameters, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`the build failed\n${output}`))));
  });
}

function newestIn(path) {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return 0;
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newestIn(join(path, name))));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const oldNode = describeOldNode(process.versions.node);
    if (oldNode !== undefined) throw new Error(oldNode);
    const [asked] = process.argv.slice(2);
    if (asked === '--if-stale') await ensureBuilt({ log: (line) => process.stderr.write(`${line}\n`) });
    else await build(partsNamed(asked));
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
