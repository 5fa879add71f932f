// Access to the embedded server: for the system user that runs Carillon, the owner of the
// database's files, and root. Written at every start, so that a copied or restored cluster is no
// more open than a new one.
import { chown, readFile, rename, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProgramUser } from './programs.ts';
import { makeUnfinished, sweep } from './unfinished.ts';

const hbaName = 'carillon_hba.conf';
const identName = 'carillon_ident.conf';

/**
 * Writes the rules and returns the server's parameters that name them. On the socket the kernel
 * identifies the user (PostgreSQL documentation, "Peer Authentication"). On loopback, when it is
 * requested, a password does.
 */
export async function writeAccess(directory: string, role: string, user: ProgramUser | undefined): Promise<string[]> {
  const names = await namesOf([0, process.getuid?.() ?? 0, user?.uid ?? 0]);
  // Other software's processes run as nobody too.
  if (process.getuid?.() === 0) names.delete('nobody');
  const ident = [...names].map((name) => `carillon ${quoted(name)} ${role}`);
  // When no user has a name in the system's list, PostgreSQL cannot identify who connects. The
  // socket's private directory still restricts access.
  const local = names.size > 0 ? 'peer map=carillon' : 'trust';
  const hba = [`local all ${role} ${local}`, 'host all all 127.0.0.1/32 scram-sha-256'];
  await replaceFiles(directory, { [hbaName]: hba, [identName]: ident }, user);
  return ['-c', `hba_file=${join(directory, hbaName)}`, '-c', `ident_file=${join(directory, identName)}`];
}

// Each file is replaced in one step, because another command's server may be reading it. A server
// that read no names would refuse everybody for as long as it runs. Renaming also replaces a file
// that belongs to root, from a time when root ran Carillon.
async function replaceFiles(
  directory: string,
  files: Readonly<Record<string, readonly string[]>>,
  user: ProgramUser | undefined,
): Promise<void> {
  await sweep(directory);
  const unfinished = await makeUnfinished(join(directory, 'carillon_access'));
  if (user) await chown(unfinished, user.uid, user.gid);
  for (const [name, lines] of Object.entries(files)) {
    const path = join(unfinished, name);
    await writeFile(path, `${lines.join('\n')}\n`, { mode: 0o600 });
    if (user) await chown(path, user.uid, user.gid);
    await rename(path, join(directory, name));
  }
  await rmdir(unfinished);
}

async function namesOf(uids: readonly number[]): Promise<Set<string>> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'));
  return new Set(uids.flatMap((uid) => lines.find(([, , id]) => id === String(uid))?.[0] ?? []));
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
