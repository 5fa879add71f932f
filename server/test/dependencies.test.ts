// What the packages rest on, read from their own files: few, named with a reason, fixed to a version, free to use.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

interface Package {
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
}

interface Locked {
  readonly license?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

const { workspaces } = JSON.parse(read('package.json')) as { workspaces: string[] };
const packageOf = (folder: string): Package => JSON.parse(read(`${folder}/package.json`));
const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };
const installed = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && !link);

describe('R-95 what the service brings along', () => {
  const names = Object.keys(packageOf('server').dependencies ?? {});

  it('is at most fifteen packages, each with its reason in docs/dependencies.md, and no other there', () => {
    expect(names.length).toBeLessThanOrEqual(15);
    const rows = [...read('docs/dependencies.md').matchAll(/^\| \[([^\]]+)\]\([^)]+\) \| (\S.*?) \| (\S.*) \|$/gm)];
    expect(rows.map(([, name]) => name)).toEqual([...names].sort());
  });

  it('is free to use, whatever these bring in turn', () => {
    const run = installed.filter(([, { dev, devOptional }]) => !dev && !devOptional);
    expect(run.length).toBeGreaterThan(names.length);
    const free = ['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'Unlicense', 'BlueOak-1.0.0'];
    expect(run.filter(([, { license = '' }]) => !free.includes(license))).toEqual([]);
  });

  it.each(['web', 'node', 'sandbox'])('is nothing in %s', (folder) => {
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = packageOf(folder);
    expect({ ...dependencies, ...optionalDependencies, ...peerDependencies }).toEqual({});
  });
});

describe('R-95 the lock file', () => {
  it('fixes what each package is, byte for byte, and leads to no place of its own', () => {
    expect(installed.length).toBeGreaterThan(100);
    expect(installed.filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''))).toEqual([]);
    expect(installed.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  it.each(['.', ...workspaces])('is asked by %s for versions and no ranges', (folder) => {
    const { dependencies, devDependencies } = packageOf(folder);
    const ranges = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
    );
    expect(ranges).toEqual([]);
  });
});
