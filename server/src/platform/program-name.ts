// The commands that messages tell people to type: `./carillon` in a checkout of the repository, `carillon` where the program
// is installed.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The folder of the checkout, or of the unpacked release, that this program runs from; null where npm installed it. */
export const checkoutDir: string | null = existsSync(`${root}carillon`) ? root.replace(/\/$/, '') : null;

/** Stands before the name of a command: `./carillon app list`. */
export const programName = checkoutDir === null ? 'carillon' : './carillon';

/** Starts the service. */
export const startCommand = checkoutDir === null ? 'carillon start' : 'npm start';
