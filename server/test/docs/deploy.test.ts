// Quick checks of the files in deploy/: they are well-formed, and every path, port and variable in
// them exists. `npm run proof -- image` runs them in full.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { validate } from 'dockerfile-utils';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig, variables } from '../../src/config.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const shipped = read('tools/release/service-tree.mjs');

/** The severity of an error (Language Server Protocol, DiagnosticSeverity). */
const error = 1;

/** Whether an operator may set a variable; variables of other programs are listed here. */
const isKnown = (name: string): boolean =>
  name in variables || name.replace(/_FILE$/, '') in variables || name === 'NODE_ENV';

/** Whether a path below the service's folder is shipped from this repository. */
const isShipped = (path: string): boolean =>
  existsSync(join(root, path)) && (shipped.includes(`'${path}'`) || shipped.includes(`'${path.split('/')[0]}'`));

const dockerfile = read('deploy/Dockerfile');

describe('deploy/Dockerfile', () => {
  it('is well-formed', () => {
    const faults = validate(dockerfile).filter(({ severity }) => severity === error);
    expect(faults).toEqual([]);
  });

  it('sets variables that the service reads, and exposes its port', () => {
    const [, environment = ''] = /^ENV (.*)$/m.exec(dockerfile) ?? [];
    const settings = Object.fromEntries(environment.split(' ').map((pair) => pair.split('=', 2)));
    expect(Object.keys(settings).filter((name) => !isKnown(name))).toEqual([]);
    const { port, dataDir } = loadConfig(settings, '/nonexistent');
    expect(/^EXPOSE (.*)$/m.exec(dockerfile)?.[1]).toBe(String(port));
    expect(/^VOLUME (.*)$/m.exec(dockerfile)?.[1]).toBe(dataDir);
  });

  it('starts shipped files as an ordinary user, given by number', () => {
    const started = [...dockerfile.matchAll(/"([\w/]+\.mjs)"/g)].map(([, path = '']) => path);
    expect(started).toEqual(['deploy/healthcheck.mjs', 'server/bin/carillon.mjs']);
    expect(started.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(dockerfile).toMatch(/^USER \d{5}$/m);
    expect(dockerfile).toMatch(/useradd .*--uid (\d{5})/);
  });
});

describe('deploy/compose.yaml', () => {
  const compose = parse(read('deploy/compose.yaml'));

  it('builds with a Dockerfile that exists, and mounts secrets that it declares', () => {
    const { build, secrets, environment } = compose.services.carillon;
    expect(existsSync(join(root, build.dockerfile))).toBe(true);
    expect(Object.keys(compose.secrets)).toEqual(expect.arrayContaining(secrets));
    const files = Object.values<string>(environment).filter((value) => value.startsWith('/run/secrets/'));
    expect(files.map((file) => file.replace('/run/secrets/', '')).sort()).toEqual([...secrets].sort());
  });

  it('sets variables that the service reads, and forwards visitors to its port', () => {
    const { carillon, proxy } = compose.services;
    expect(Object.keys(carillon.environment).filter((name) => !isKnown(name))).toEqual([]);
    expect(proxy.command.at(-1)).toBe(`carillon:${loadConfig({}, '/nonexistent').port}`);
    expect(carillon.environment.TRUSTED_PROXIES).toBe(compose.networks.outside.ipam.config[0].subnet);
  });

  it('runs the service on a read-only root, without privileges, and waits for its stop', () => {
    expect(compose.services.carillon).toMatchObject({ read_only: true, cap_drop: ['ALL'], stop_grace_period: '30s' });
  });
});

describe.each(readdirSync(join(root, 'deploy/systemd')))('deploy/systemd/%s', (name) => {
  const unit = read(`deploy/systemd/${name}`);

  it('refers to files of the release, and to variables that the service reads', () => {
    const paths = [...unit.matchAll(/\/opt\/carillon\/([\w./-]+)/g)].map(([, path = '']) => path);
    expect(paths.filter((path) => !isShipped(path))).toEqual([]);
    const set = [...unit.matchAll(/^Environment=(\w+)=/gm)].map(([, variable = '']) => variable);
    expect(set.filter((variable) => !isKnown(variable))).toEqual([]);
  });
});
