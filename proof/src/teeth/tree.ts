// A copy of the working tree in which a line can be replaced. It shares the installed packages with
// the working tree, and of the workspaces it has its own.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { repository } from '../../../rig/src/workbench.ts';
import type { Control } from './controls.ts';

export function copyTree(to: string): void {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: repository,
    encoding: 'utf8',
  });
  for (const name of listed.split('\0').filter((each) => each !== '' && existsSync(join(repository, each)))) {
    mkdirSync(dirname(join(to, name)), { recursive: true });
    cpSync(join(repository, name), join(to, name), { verbatimSymlinks: true });
  }
  linkPackages(join(repository, 'node_modules'), join(to, 'node_modules'));
  // A line less may leave an import or a parameter without use. That is no fault of the mutant.
  const settings = join(to, 'tsconfig.base.json');
  const text = readFileSync(settings, 'utf8').replace(/"(noUnused\w+)": true/g, '"$1": false');
  writeFileSync(settings, text);
}

/** Links each package. A link to a workspace is relative, and so leads to the workspace of the copy. */
function linkPackages(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    if (name.startsWith('@')) linkPackages(join(from, name), join(to, name));
    else if (lstatSync(join(from, name)).isSymbolicLink()) {
      symlinkSync(readlinkSync(join(from, name)), join(to, name));
    } else if (!name.startsWith('.') || name === '.bin') symlinkSync(join(from, name), join(to, name));
  }
}

/** The file's text without the control. Throws unless the line stands there exactly once. */
export function withoutControl(text: string, { file, line, without }: Control): string {
  const lines = text.split('\n');
  const found = lines.flatMap((each, at) => (each.trim() === line ? [at] : []));
  const [at, ...more] = found;
  if (at === undefined || more.length > 0) throw new Error(`${file} has ${found.length} times the line: ${line}`);
  return lines.with(at, without).join('\n');
}
