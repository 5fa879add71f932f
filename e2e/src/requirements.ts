// Finds the system programs that the browser tests need. It installs nothing.

import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The program in each Debian package. */
const programs = { 'firefox-esr': 'firefox-esr', chromium: 'chromium', dbus: 'dbus-daemon' } as const;

export type Requirement = keyof typeof programs | 'libnotify4';

/** The names of the missing packages, for the person who has to install them. */
export function listMissing(requirements: readonly Requirement[]): string[] {
  if (process.platform !== 'linux') return ['Linux'];
  return requirements.filter((requirement) =>
    requirement === 'libnotify4' ? !isLibnotifyThere() : findProgram(programs[requirement]) === undefined,
  );
}

/** Throws when the program is missing, so call listMissing first. */
export function programPath(requirement: keyof typeof programs): string {
  const path = findProgram(programs[requirement]);
  if (path === undefined) throw new Error(`Install ${requirement}.`);
  return path;
}

function findProgram(name: string): string | undefined {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  return directories.map((directory) => join(directory, name)).find((path) => existsSync(path));
}

/**
 * Firefox loads the library by name. When it is missing, Firefox shows no notification and reports
 * no error.
 */
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
