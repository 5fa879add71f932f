// The program's version, and the form of commands in messages to people: `./carillon` in a checkout
// of the repository, `carillon` where the program is installed.
import { existsSync, readFileSync } from 'node:fs';
import { installed } from '../install.ts';

const root = installed('.');

/**
 * The folder of the checkout, or of the unpacked release, from which this program runs; null when
 * npm installed it.
 */
export const checkoutDir: string | null = existsSync(`${root}carillon`) ? root.replace(/\/$/, '') : null;

/** The program's name before a command: `./carillon app list`. */
export const programName = checkoutDir === null ? 'carillon' : './carillon';

/** The command that starts the service. */
export const startCommand = checkoutDir === null ? 'carillon start' : 'npm start';

/** The version that `--version` prints. */
export function readVersion(): string {
  return (JSON.parse(readFileSync(installed('server/package.json'), 'utf8')) as { version: string }).version;
}
