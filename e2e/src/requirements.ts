// Which programs of the system the browser tests need, and where they are. Looks only; installs nothing.

import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Debian package → the program it brings. */
const PROGRAMS = { 'firefox-esr': 'firefox-esr', chromium: 'chromium', dbus: 'dbus-daemon' } as const;

export type Requirement = keyof typeof PROGRAMS | 'libnotify4';

/** The packages of this list that are not there, in words for whoever has to install them. */
export function listMissing(requirements: readonly Requirement[]): string[] {
  if (process.platform !== 'linux') return ['Linux'];
  return requirements.filter((requirement) =>
    requirement === 'libnotify4' ? !isLibnotifyThere() : findProgram(PROGRAMS[requirement]) === undefined,
  );
}

/** Throws where the program is missing: ask listMissing first. */
export function programPath(requirement: keyof typeof PROGRAMS): string {
  const path = findProgram(PROGRAMS[requirement]);
  if (path === undefined) throw new Error(`Install ${requirement}.`);
  return path;
}

function findProgram(name: string): string | undefined {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  return directories.map((directory) => join(directory, name)).find((path) => existsSync(path));
}

/** Firefox opens the library by name and, where it is missing, shows nothing and says nothing. */
function isLibnotifyThere(): boolean {
  const roots = ['/usr/lib', '/lib', '/usr/lib64'].filter((root) => existsSync(root));
  const directories = roots.flatMap((root) => [
    root,
    ...readdirSync(root)
      .filter((name) => name.includes('-linux-gnu'))
      .map((name) => join(root, name)),
  ]);
  return directories.some((directory) => existsSync(join(directory, 'libnotify.so.4')));
}
