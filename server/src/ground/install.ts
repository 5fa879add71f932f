// The folders of an installation. This file is the only one that counts on its own place: two folders
// below `server`, as deep as the built program.
import { fileURLToPath } from 'node:url';

const root = new URL('../../../', import.meta.url);

/** The folder with this path from the root of the installation, such as `server/migrations`. */
export function folderOf(path: string): string {
  return fileURLToPath(new URL(`${path}/`, root));
}

/** The file with this path from the root of the installation. */
export function fileOf(path: string): string {
  return fileURLToPath(new URL(path, root));
}
