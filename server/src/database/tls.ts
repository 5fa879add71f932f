// TLS to PostgreSQL: requests it as the protocol demands, and ignores everything that the server
// said before encryption.
import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect } from 'node:tls';
import { tlsRequest } from './protocol.ts';

/**
 * The mode as the driver reads it from `sslmode`: a word of libpq's, options of Node's, or false.
 */
export type TlsMode = string | boolean | object | null | undefined;

export interface TlsSettings {
  readonly mode: TlsMode;
  /** `direct`: TLS starts without a request. */
  readonly negotiation: string | null | undefined;
}

/**
 * Resolves with the socket to use. Rejects when the server has no TLS, or none that the mode
 * accepts.
 */
export async function secure(raw: Socket, host: string, { mode, negotiation }: TlsSettings): Promise<Socket> {
  const isDirect = negotiation === 'direct';
  if (!isDirect && !(await asksFor(raw))) {
    if (mode === 'prefer') return raw;
    throw refusal('the database server has no TLS');
  }
  const options: ConnectionOptions = {
    socket: raw,
    host,
    ...(isIP(host) === 0 && { servername: host }),
    ...(isDirect && { ALPNProtocols: ['postgresql'] }),
    // These words of libpq's encrypt without verifying the server.
    ...((mode === 'require' || mode === 'allow' || mode === 'prefer') && { rejectUnauthorized: false }),
    ...(typeof mode === 'object' && mode),
  };
  const socket = connect(options);
  await once(socket, 'secureConnect');
  return socket;
}

/** Hosts of a database's URL; a path is a socket on this machine. */
export type DatabaseHosts = string | readonly string[];

/**
 * `plain`: a connection that leaves this machine is or may be without TLS. `unverified`: it is
 * encrypted to a server that proved no identity, so that an attacker on the network can take the
 * server's place. Undefined: neither.
 */
export function findTlsFault(hosts: DatabaseHosts, mode: TlsMode): 'plain' | 'unverified' | undefined {
  const remote = [hosts].flat().filter((host) => !isHere(host));
  if (remote.length === 0) return undefined;
  if (!mode || mode === 'disable' || mode === 'prefer') return 'plain';
  const isVerified = mode !== 'require' && mode !== 'allow' && (mode as ConnectionOptions).rejectUnauthorized !== false;
  return isVerified ? undefined : 'unverified';
}

function isHere(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

async function asksFor(raw: Socket): Promise<boolean> {
  raw.write(tlsRequest);
  const answer = await Promise.race([
    once(raw, 'data').then(([chunk]) => chunk as Buffer),
    once(raw, 'close').then(() => Buffer.alloc(0)),
  ]);
  raw.pause();
  if (answer.length === 0) throw refusal('the connection was ended before it was ready');
  // Bytes after the letter did not come from the server, or came unencrypted (CVE-2021-23222).
  if (answer.length !== 1) throw refusal('the database server answers more than it was asked');
  return answer.toString() === 'S';
}

function refusal(message: string): Error {
  return Object.assign(new Error(message), { code: 'CONNECTION_REFUSED' });
}
