// Opens every TLS connection to an untrusted server: through the address guard, always verified,
// TLS 1.2 or newer, no proxy. Opening never throws; every failure is an error of the socket, which
// `transportErrorOf` classifies.
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

/** The target; the host is written as in a URL, without brackets. */
export interface OutboundOrigin {
  readonly host: string;
  readonly port: number;
}

export interface OutboundSockets {
  /**
   * Starts a connection and returns its socket at once; `secureConnect` says that it is verified
   * and may be written to. `alpn` names the offered protocols, best first.
   */
  open(origin: OutboundOrigin, alpn: readonly string[]): TLSSocket;
}

/** Throws when the operator's certificate authority is not PEM, which stops the start. */
export function createOutboundSockets(guard: AddressGuard): OutboundSockets {
  const { exceptions } = guard;
  // One context for all connections, because parsing the root certificates for each would cost
  // milliseconds.
  const secureContext = createSecureContext({
    minVersion: 'TLSv1.2',
    ...(exceptions.ca !== undefined && { ca: [...rootCertificates, exceptions.ca] }),
  });

  return {
    open(origin, alpn) {
      const target = exceptions.resolve.get(`${origin.host}:${origin.port}`);
      const host = target?.address ?? origin.host;
      // Node calls no lookup for a literal address, so it is checked here.
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
    // Set explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable it.
    rejectUnauthorized: true,
    // The name in the URL counts, wherever the operator redirects its connections.
    checkServerIdentity: (_name, certificate) => checkServerIdentity(origin.host, certificate),
  });
  // Before any other listener, so that not even a TLS greeting is written to an address that was
  // not approved.
  socket.prependOnceListener('connect', () => {
    if (!guard.permits(socket.remoteAddress ?? '')) socket.destroy(new BlockedAddressError());
  });
  socket.setNoDelay(true);
  return socket;
}

/** A socket that fails in the next tick, like one that met a closed port. */
function failedSocket(error: unknown): TLSSocket {
  const socket = new TLSSocket(new Socket());
  socket.destroy(error instanceof Error ? error : new Error(String(error)));
  return socket;
}
