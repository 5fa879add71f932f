// The one way a TLS connection to a stranger is opened: past the address guard, always verified, TLS 1.2 or newer, no proxy.
// Opening never throws; whatever goes wrong is an error of the socket, and `transportErrorOf` names it.
import { isIP, Socket } from 'node:net';
import {
  checkServerIdentity,
  connect,
  createSecureContext,
  rootCertificates,
  type SecureContext,
  TLSSocket,
} from 'node:tls';
import { type AddressGuard, BlockedAddressError } from './address-guard.ts';
import { LookupNotBegunError } from './name-lookups.ts';

/** Why no answer came (contract 5.2 and 13.5). */
export const transportErrors = [
  'timeout',
  'dns_error',
  'connect_error',
  'tls_error',
  'reset',
  'blocked_address',
] as const;
export type TransportError = (typeof transportErrors)[number];

/** Where to: the host as a URL writes it, without brackets. */
export interface OutboundOrigin {
  readonly host: string;
  readonly port: number;
}

export interface OutboundSockets {
  /**
   * Starts a connection and returns its socket at once; `secureConnect` tells that it is verified and may be written to.
   * `alpn` names the protocols offered, best first.
   */
  open(origin: OutboundOrigin, alpn: readonly string[]): TLSSocket;
}

/** Throws when the operator's certificate authority is not PEM: that stops the start. */
export function createOutboundSockets(guard: AddressGuard): OutboundSockets {
  const { exceptions } = guard;
  // One context for all connections: parsing the root certificates anew for each would cost milliseconds.
  const secureContext = createSecureContext({
    minVersion: 'TLSv1.2',
    ...(exceptions.ca !== undefined && { ca: [...rootCertificates, exceptions.ca] }),
  });

  return {
    open(origin, alpn) {
      const target = exceptions.resolve.get(`${origin.host}:${origin.port}`);
      const host = target?.address ?? origin.host;
      // Node asks no lookup for a literal, so a literal is judged here.
      if (isIP(host) !== 0 && !guard.permits(host)) return failedSocket(new BlockedAddressError());
      try {
        return openGuarded(guard, secureContext, origin, { host, port: target?.port ?? origin.port }, alpn);
      } catch (error) {
        return failedSocket(error);
      }
    },
  };
}

function openGuarded(
  guard: AddressGuard,
  secureContext: SecureContext,
  origin: OutboundOrigin,
  target: OutboundOrigin,
  alpn: readonly string[],
): TLSSocket {
  const socket = connect({
    ...target,
    ...(isIP(origin.host) === 0 && { servername: origin.host }),
    lookup: guard.lookup,
    secureContext,
    ALPNProtocols: [...alpn],
    // Said aloud, so that NODE_TLS_REJECT_UNAUTHORIZED cannot turn it off.
    rejectUnauthorized: true,
    // The name in the URL counts, wherever the operator lets its connections go.
    checkServerIdentity: (_name, certificate) => checkServerIdentity(origin.host, certificate),
  });
  // Before any other listener, so that not even a TLS greeting is written to an address nobody approved.
  socket.prependOnceListener('connect', () => {
    if (!guard.permits(socket.remoteAddress ?? '')) socket.destroy(new BlockedAddressError());
  });
  socket.setNoDelay(true);
  return socket;
}

/** A socket that fails in the next tick, as one that met a closed port would. */
function failedSocket(error: unknown): TLSSocket {
  const socket = new TLSSocket(new Socket());
  socket.destroy(error instanceof Error ? error : new Error(String(error)));
  return socket;
}

const dnsCodes = new Set(['ENOTFOUND', 'ENODATA', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_MEMORY', 'EAI_NODATA', 'EAI_NONAME']);
const connectCodes = new Set([
  ...['ECONNREFUSED', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'EADDRNOTAVAIL', 'EADDRINUSE', 'EACCES'],
  ...['EPERM', 'EMFILE', 'ENFILE', 'EAFNOSUPPORT', 'EINVAL', 'ETIMEDOUT'],
]);
const tlsCodes =
  /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|INVALID_CA|PATH_LENGTH|HOSTNAME_|EPROTO|CRL_|ERROR_IN_)/;

/** Why no connection could be made. */
export interface Unreachable {
  readonly transportError: TransportError;
  /** The host's name was not even asked for: other names held all places. It is nobody's fault at the other side. */
  readonly isUntried?: true;
}

export function unreachableOf(error: unknown): Unreachable {
  const transportError = transportErrorOf(error);
  return error instanceof LookupNotBegunError ? { transportError, isUntried: true } : { transportError };
}

/** The word for a failed connection. Whatever broke an open one is `reset`, nonsense in the answer included. */
export function transportErrorOf(error: unknown): TransportError {
  if (error instanceof BlockedAddressError) return 'blocked_address';
  const { code = '', syscall = '' } = (error ?? {}) as { code?: string; syscall?: string };
  if (dnsCodes.has(code) || syscall === 'getaddrinfo') return 'dns_error';
  if (tlsCodes.test(code)) return 'tls_error';
  if (syscall === 'connect' || connectCodes.has(code)) return 'connect_error';
  return 'reset';
}
