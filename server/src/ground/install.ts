// The files of an installation. This file is the only one that counts on its own place: two folders
// below `server`, as deep as the built program.
import { fileURLToPath } from 'node:url';

const root = new URL('../../../', import.meta.url);

/** The file with this path from the root of the installation, or the folder, such as `server/pages/`. */
export function installed(path: string): string {
  return fileURLToPath(new URL(path, root));
}
