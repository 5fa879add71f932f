// Makes a clean Debian root in place of a container's base image, for machines without a container
// engine. debootstrap makes it, and this machine's Node and npm are copied to where the official
// image has them. Steps run in it by chroot.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, existsSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface StepOptions {
  readonly root: string;
  readonly workingDir: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** The PATH of the base image. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** A mount namespace of its own, so that mounts end with the step. */
const apart = ['--mount', '--propagation', 'private', 'sh', '-c'];

/** Whether this machine can make a root: it needs root's rights, Debian and debootstrap. */
export function canMakeRoots(): boolean {
  return process.getuid?.() === 0 && existsSync('/usr/sbin/debootstrap');
}

/** Makes the base in `directory`, which takes a minute or two. */
export function makeBase(directory: string): void {
  const { codename } = readRelease();
  execFileSync('debootstrap', ['--variant=minbase', codename, directory], { stdio: 'ignore' });
  const npm = dirname(dirname(realpathSync(which('npm'))));
  copyFileSync(process.execPath, join(directory, 'usr/local/bin/node'));
  cpSync(npm, join(directory, 'usr/local/lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(directory, 'usr/local/bin/npm'));
  copyFileSync('/etc/resolv.conf', join(directory, 'etc/resolv.conf'));
  const authorities = process.env['NODE_EXTRA_CA_CERTS'];
  if (authorities) {
    mkdirSync(join(directory, dirname(authorities)), { recursive: true });
    copyFileSync(authorities, join(directory, authorities));
  }
}

export function copyRoot(base: string, directory: string): void {
  execFileSync('cp', ['--archive', base, directory]);
}

/** Runs one step as an image build would. Rejects with the step's output. */
export async function runStep(command: string, { root, workingDir, environment }: StepOptions): Promise<void> {
  const authorities = process.env['NODE_EXTRA_CA_CERTS'];
  const script = `mount -t proc proc ${join(root, 'proc')} && mount --bind /dev ${join(root, 'dev')} && exec chroot ${root} /bin/sh -c "$1"`;
  const child = spawn('unshare', [...apart, script, 'sh', `cd ${workingDir} && ${command}`], {
    env: { PATH: systemPath, HOME: '/root', ...(authorities && { NODE_EXTRA_CA_CERTS: authorities }), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${output.trim().split('\n').slice(-5).join(' | ')}`);
}

/**
 * The parameters that make `unshare` run a command as `user` in a read-only root whose `/tmp` is in
 * memory and whose `data` is writable.
 */
export function containerParameters(
  { root, workingDir }: StepOptions,
  user: string,
  data: { readonly host: string; readonly inside: string },
  words: readonly string[],
): readonly string[] {
  const inside = (name: string): string => join(root, name);
  const mounts = [
    `mount --bind ${root} ${root}`,
    `mount -t proc proc ${inside('proc')}`,
    `mount --bind /dev ${inside('dev')}`,
    `mount -t tmpfs tmpfs ${inside('tmp')}`,
    `mount --bind ${data.host} ${inside(data.inside)}`,
    `mount -o remount,ro,bind ${root}`,
  ];
  const script = `${mounts.join(' && ')} && exec chroot --userspec=${user}:${user} ${root} /bin/sh -c 'cd ${workingDir} && exec "$@"' sh "$@"`;
  return [...apart, script, 'sh', ...words];
}

function readRelease(): { codename: string } {
  const text = execFileSync('cat', ['/etc/os-release'], { encoding: 'utf8' });
  const [, codename] = /^VERSION_CODENAME=(\w+)$/m.exec(text) ?? [];
  if (codename === undefined) throw new Error('This is no Debian whose name is known.');
  return { codename };
}

function which(program: string): string {
  return execFileSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim();
}
