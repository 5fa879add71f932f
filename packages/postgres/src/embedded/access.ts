// Access to the embedded server: for the system user that runs the program, the owner of the
// database's files, and root. Written at every start, so that a copied or restored cluster is no
// more open than a new one.
import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { owner } from './owner.ts';
import type { ProgramUser } from './programs.ts';

/**
 * Writes the rules and returns the server's parameters that name them. On the socket the kernel
 * identifies the user (PostgreSQL documentation, "Peer Authentication"). No rule admits TCP.
 */
export async function writeAccess(
  directory: string,
  roles: readonly string[],
  user: ProgramUser | undefined,
): Promise<string[]> {
  const names = await namesOf([0, process.getuid?.() ?? 0, user?.uid ?? 0]);
  // Other software's processes run as nobody too.
  if (process.getuid?.() === 0) names.delete('nobody');
  const ident = [...names].flatMap((name) => roles.map((role) => `${owner.name} ${quoted(name)} ${role}`));
  // When no user has a name in the system's list, PostgreSQL cannot identify who connects. The
  // socket's private directory still restricts access.
  const local = names.size > 0 ? `peer map=${owner.name}` : 'trust';
  const hba = [`local all ${roles.join()} ${local}`];
  const [hbaPath, identPath] = [join(directory, `${owner.name}_hba.conf`), join(directory, `${owner.name}_ident.conf`)];
  await replaceFile(hbaPath, hba, user);
  await replaceFile(identPath, ident, user);
  return ['-c', `hba_file=${hbaPath}`, '-c', `ident_file=${identPath}`];
}

// The file is replaced in one step, because another command's server may be reading it. A server
// that reads no names refuses everybody as long as it runs. Renaming also replaces a file that
// belongs to root, from a time when root ran the program. The database's user may write in this
// directory, so root opens only new files and never follows a link.
async function replaceFile(path: string, lines: readonly string[], user: ProgramUser | undefined): Promise<void> {
  const unfinished = `${path}.new-${randomBytes(8).toString('hex')}`;
  try {
    const file = await open(unfinished, 'wx', 0o600);
    try {
      if (user) await file.chown(user.uid, user.gid);
      await file.writeFile(`${lines.join('\n')}\n`);
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

async function namesOf(uids: readonly number[]): Promise<Set<string>> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'));
  return new Set(uids.flatMap((uid) => lines.find(([, , id]) => id === String(uid))?.[0] ?? []));
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
