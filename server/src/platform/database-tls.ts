// TLS to PostgreSQL: asks for it as the protocol wants, and takes the server's word for nothing that was said before it.
import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect } from 'node:tls';
import { tlsRequest } from './database-protocol.ts';

/** As the driver reads it from `sslmode`: a word of libpq's, options of Node's, or false. */
export type TlsMode = string | boolean | object | null | undefined;

export interface TlsSettings {
  readonly mode: TlsMode;
  /** `direct`: without asking first. */
  readonly negotiation: string | null | undefined;
}

/** Resolves with the socket to speak through. Rejects where the server has no TLS, or not one that the mode accepts. */
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
    // libpq's words: these encrypt, and verify nobody.
    ...((mode === 'require' || mode === 'allow' || mode === 'prefer') && { rejectUnauthorized: false }),
    ...(typeof mode === 'object' && mode),
  };
  const socket = connect(options);
  await once(socket, 'secureConnect');
  return socket;
}

/** Hosts of a database's address; a path is a socket on this machine. */
export type DatabaseHosts = string | readonly string[];

/**
 * `plain`: a connection that leaves this machine without TLS, or may. `unverified`: encrypted, to a server that proved nothing,
 * so that somebody on the way can be it. Undefined: neither.
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
  // More than the letter was not said by the server, or not in secret (CVE-2021-23222).
  if (answer.length !== 1) throw refusal('the database server answers more than it was asked');
  return answer.toString() === 'S';
}

function refusal(message: string): Error {
  return Object.assign(new Error(message), { code: 'CONNECTION_REFUSED' });
}
