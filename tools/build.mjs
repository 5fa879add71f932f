// Builds the compiler's output for every package, the browser SDK's bundles and the console. Run as
// a program it always builds. `ensureBuilt` and `--if-stale` build only when a source is newer than
// the last build.
import { spawn } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeOldNode } from '../server/bin/node-version.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stamp = join(root, 'server/dist/.built');
const sources = [
  'server/src',
  'sandbox/src',
  'web/src',
  'node/src',
  'web/build.mjs',
  'console/src',
  'console/public',
  'console/index.html',
  'console/vite.config.ts',
  'console/build.mjs',
  'node/examples',
  'docs/identify.md',
  'tsconfig.base.json',
  'package-lock.json',
];

/**
 * Builds when needed. Returns the duration, or undefined when nothing had to be built. Rejects with
 * the compiler's words.
 */
export async function ensureBuilt({ log }) {
  if (!isStale()) return undefined;
  const startedAt = performance.now();
  log('Building Carillon, once…');
  await build();
  const seconds = (performance.now() - startedAt) / 1000;
  log(`Built in ${seconds.toFixed(1)} s.`);
  return { seconds };
}

async function build() {
  // Compilers are resolved and never downloaded: a fresh machine has only what npm ci installed.
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-b', root]);
  await run(process.execPath, [join(root, 'web/build.mjs')]);
  await run(process.execPath, [join(root, 'console/build.mjs')]);
  writeFileSync(stamp, `${new Date().toISOString()}\n`);
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

function isStale() {
  const builtAt = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return sources.some((source) => newestIn(join(root, source)) > builtAt);
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
    if (process.argv[2] === '--if-stale') await ensureBuilt({ log: (line) => process.stderr.write(`${line}\n`) });
    else await build();
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
