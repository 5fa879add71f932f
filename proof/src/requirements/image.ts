// Proves the container image without a container engine: runs the steps of deploy/Dockerfile in a
// clean Debian root, and then the service as the image's user on a read-only root. It also proves
// the release's tarball in another empty root.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../../../rig/src/ports.ts';
import { repository, type Workbench } from '../../../rig/src/workbench.ts';
import {
  canMakeRoots,
  containerParameters,
  copyRoot,
  makeBase,
  runStep,
  type StepOptions,
  systemPath,
} from '../image/clean-root.ts';
import { parseDockerfile, type Stage } from '../image/dockerfile.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

const readySecondsMax = 60;

interface Image extends StepOptions {
  readonly user: string;
  readonly start: readonly string[];
  readonly healthcheck: readonly string[];
}

async function run({ report, workbench }: ProofOptions): Promise<void> {
  if (!canMakeRoots()) {
    report.missing(
      'the image in a clean root',
      'Run as root on Debian with debootstrap (apt-get install debootstrap).',
    );
    return;
  }
  const home = await workbench.makeDirectory('image');
  const base = join(home, 'base');
  const say = (line: string): void => report.progress(line);
  say('  debootstrap');
  makeBase(base);

  const image = await buildImage(base, home, say);
  report.claim('the steps of deploy/Dockerfile run in a clean Debian root', 'all of them', []);
  await proveService('the image', image, workbench, report);

  const released = await unpackRelease(base, home, say);
  await proveService("the release's tarball", released, workbench, report);
}

/** Builds the stages. Each begins as a copy of the base and takes the changes of COPY and RUN. */
async function buildImage(base: string, home: string, progress: (line: string) => void): Promise<Image> {
  const stages = parseDockerfile(readFileSync(join(repository, 'deploy/Dockerfile'), 'utf8'));
  const roots = new Map<string, string>();
  let image: Image | undefined;
  for (const [index, stage] of stages.entries()) {
    const root = join(home, `stage-${index}`);
    copyRoot(base, root);
    if (stage.name) roots.set(stage.name, root);
    image = await buildStage(stage, root, roots, progress);
  }
  if (!image) throw new Error('The Dockerfile has no stage');
  return image;
}

async function buildStage(
  { steps }: Stage,
  root: string,
  roots: ReadonlyMap<string, string>,
  progress: (line: string) => void,
): Promise<Image> {
  const environment: Record<string, string> = {};
  const words: Record<'healthcheck' | 'entrypoint' | 'cmd', readonly string[]> = {
    healthcheck: [],
    entrypoint: [],
    cmd: [],
  };
  let workingDir = '/';
  let user = '0';
  for (const step of steps) {
    switch (step.kind) {
      case 'run':
        progress(`  RUN ${step.command}`);
        await runStep(step.command, { root, workingDir, environment });
        break;
      case 'copy':
        copyInto(
          step.from === undefined ? undefined : roots.get(step.from),
          step.source,
          join(root, workingDir, step.target),
          root,
          step.target,
        );
        break;
      case 'workdir':
        workingDir = step.path;
        mkdirSync(join(root, workingDir), { recursive: true });
        break;
      case 'env':
        Object.assign(environment, step.values);
        break;
      case 'user':
        user = step.user;
        break;
      case 'note':
        break;
      default:
        words[step.kind] = step.words;
    }
  }
  return {
    root,
    workingDir,
    environment,
    user,
    start: [...words.entrypoint, ...words.cmd],
    healthcheck: words.healthcheck,
  };
}

function copyInto(from: string | undefined, source: string, relative: string, root: string, target: string): void {
  const place = target.startsWith('/') ? join(root, target) : relative;
  if (from !== undefined) {
    cpSync(join(from, source), place, { recursive: true, verbatimSymlinks: true });
    return;
  }
  // The build's context: the files that Git tracks, which is what .dockerignore leaves of a clean
  // checkout.
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: repository, encoding: 'utf8' })
    .split('\0')
    .filter(Boolean);
  for (const name of tracked) cpSync(join(repository, name), join(place, name));
}

async function unpackRelease(base: string, home: string, progress: (line: string) => void): Promise<Image> {
  const root = join(home, 'released');
  const out = join(home, 'release');
  copyRoot(base, root);
  progress('  npm run release -- --dry-run');
  execFileSync('npm', ['run', '--silent', 'release', '--', '--dry-run', '--out', out], {
    cwd: repository,
    stdio: 'ignore',
  });
  execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: out });
  const name = readdirSync(out).find((each) => /^carillon-\d.*\.tgz$/.test(each));
  if (name === undefined) throw new Error('The release has no tarball of the service');
  execFileSync('tar', ['--extract', '--file', join(out, name), '--directory', join(root, 'opt')]);
  const workingDir = `/opt/${name.replace(/\.tgz$/, '')}`;
  const environment = { DATA_DIR: '/var/lib/carillon' };
  await runStep('useradd --system --uid 10002 --home-dir /var/lib/carillon --create-home carillon', {
    root,
    workingDir: '/',
    environment,
  });
  progress('  npm ci --omit=dev');
  await runStep('npm ci --omit=dev --ignore-scripts --no-audit --no-fund', { root, workingDir, environment });
  return {
    root,
    workingDir,
    environment,
    user: '10002',
    start: ['./carillon', 'start'],
    healthcheck: ['node', 'deploy/healthcheck.mjs'],
  };
}

/** Starts the service on a port of its own, checks its health as an engine would, and stops it. */
async function proveService(
  what: string,
  image: Image,
  workbench: Workbench,
  report: ProofOptions['report'],
): Promise<void> {
  const data = {
    host: await workbench.makeDirectory('data'),
    inside: image.environment['DATA_DIR'] ?? '/var/lib/carillon',
  };
  chownSync(data.host, Number(image.user), Number(image.user));
  mkdirSync(join(image.root, data.inside), { recursive: true });
  const port = String(await findFreePort());
  const environment = {
    PATH: systemPath,
    ...image.environment,
    PORT: port,
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    WORKERS: '1',
  };
  const container = (words: readonly string[]) =>
    spawn('unshare', [...containerParameters(image, image.user, data, words)], {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });

  const before = listFiles(image.root);
  const service = container(image.start);
  let output = '';
  for (const stream of [service.stdout, service.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ended = once(service, 'close') as Promise<[number | null]>;
  workbench.onClose(async () => void service.kill('SIGKILL'));
  const status = await waitUntilReady(port, service);
  report.claim(
    `${what} is ready with its own database, as an ordinary user on a read-only root`,
    `readyz ${status}`,
    status === 200 ? [] : [output.slice(-2_000)],
  );
  const [health] = (await once(container(image.healthcheck), 'close')) as [number | null];
  report.claim(`${what} is healthy by its own check`, `status ${health}`, health === 0 ? [] : ['The check failed.']);
  const page = await fetch(`http://127.0.0.1:${port}/`).then((answer) => answer.status, String);
  report.claim(`${what} serves its page`, `/ answers ${page}`, page === 200 ? [] : ['The page is not served.']);
  service.kill('SIGTERM');
  const [code] = await ended;
  report.claim(`${what} stops in order`, `status ${code}`, code === 0 ? [] : [output.slice(-2_000)]);
  const written = listFiles(image.root).filter((file) => !before.includes(file));
  report.claim(
    `${what} writes to its data directory alone`,
    `${readdirSync(data.host).length} entries there, ${written.length} elsewhere`,
    written,
  );
  rmSync(data.host, { recursive: true, force: true });
}

async function waitUntilReady(port: string, service: { readonly exitCode: number | null }): Promise<number | string> {
  const until = performance.now() + readySecondsMax * 1_000;
  while (performance.now() < until && service.exitCode === null) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return 200;
    await sleep(200);
  }
  return service.exitCode === null ? `not within ${readySecondsMax} s` : `ended with ${service.exitCode}`;
}

function listFiles(root: string): readonly string[] {
  return execFileSync('find', [root, '-xdev', '-type', 'f'], { encoding: 'utf8', maxBuffer: 1e9 }).split('\n');
}

export const requirement: Requirement = {
  number: 'image',
  title: 'The container image and the release, in a clean root',
  leftOut: 'builds two Debian roots, which takes minutes',
  run,
};
