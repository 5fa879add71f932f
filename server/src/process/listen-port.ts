// Checks the port that the service listens on before anything is created. When it is not available,
// a sentence says which program has it and what to do. Nothing stays open.
import { once } from 'node:events';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { startCommand } from '../ground/program-name.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Ports after the taken one among which a free one is searched. */
const portsTried = 20;

/** Rejects, with a sentence for the operator, when nothing can listen at this address. */
export async function checkListenAddress(address: ListenAddress): Promise<void> {
  try {
    await tryToListen(address);
  } catch (error) {
    throw await explainListenError(error, address);
  }
}

/** Returns the sentence for an error of `listen`; any other error is returned unchanged. */
export async function explainListenError(error: unknown, { host, port }: ListenAddress): Promise<unknown> {
  const { code } = error as { code?: string };
  if (code === 'EADDRINUSE') {
    const holder = (await findHolder(port).catch(() => undefined)) ?? 'another program';
    const free = await findFreePort(host, port);
    return new Error(`PORT ${port} is taken by ${holder}; choose another with PORT=${free} ${startCommand}`);
  }
  if (code === 'EACCES') {
    return new Error(`PORT ${port} is not open to this user; choose one above 1023 with PORT=8080 ${startCommand}`);
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new Error(`HOST ${host} is no address of this machine; 127.0.0.1 is, and 0.0.0.0 stands for all of them`);
  }
  return error;
}

async function tryToListen({ host, port }: ListenAddress): Promise<void> {
  const server = createServer();
  server.listen({ host, port, exclusive: true });
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

async function findFreePort(host: string, taken: number): Promise<number> {
  for (let port = taken + 1; port <= Math.min(taken + portsTried, 65_535); port++) {
    if (
      await tryToListen({ host, port }).then(
        () => true,
        () => false,
      )
    )
      return port;
  }
  return taken === 65_535 ? 8081 : taken + 1;
}

/**
 * Describes the program that listens on a port. Only Linux tells, and only root learns about other
 * users' programs; otherwise undefined.
 */
async function findHolder(port: number): Promise<string | undefined> {
  const inodes = new Set<string>();
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of (await readFile(table, 'utf8')).split('\n').slice(1)) {
      // proc(5): number, local address, remote address, state (0A listens), …, and the socket's
      // inode as the tenth field.
      const [, local = '', , state, ...rest] = line.trim().split(/\s+/);
      if (state === '0A' && Number.parseInt(local.split(':')[1] ?? '', 16) === port) inodes.add(rest[5] ?? '');
    }
  }
  for (const pid of await readdir('/proc')) {
    if (/^\d+$/.test(pid) && (await hasSocket(pid, inodes))) return describeProcess(pid);
  }
  return undefined;
}

async function hasSocket(pid: string, inodes: ReadonlySet<string>): Promise<boolean> {
  const files = await readdir(`/proc/${pid}/fd`).catch(() => []);
  for (const file of files) {
    const target = await readlink(`/proc/${pid}/fd/${file}`).catch(() => '');
    const [, inode = ''] = /^socket:\[(\d+)\]$/.exec(target) ?? [];
    if (inodes.has(inode)) return true;
  }
  return false;
}

async function describeProcess(pid: string): Promise<string> {
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const named = (field: string): string => new RegExp(`^${field}:[ \\t]*(\\S.*)?$`, 'm').exec(status)?.[1] ?? '';
  // A service listens in a child of the process that an operator started and would stop.
  if (/\/server\/(?:dist\/program|src\/process)\/child\.[jt]s/.test(command))
    return `another Carillon (process ${named('PPid')})`;
  return `${named('Name').replaceAll(/\P{ASCII}|[^ -~]/gu, '?')} (process ${pid})`;
}
