// Redirects a peer's connections to Apple and Google to the receiver, below the library, because
// some libraries have no option for another host. Connections to any other host fail.
import { readFileSync } from 'node:fs';
import tls from 'node:tls';
import type { ReceiverAddress } from '../receiver.ts';

/** Must be called before the first connection. */
export function redirectProviders({ ports, certificateFile }: ReceiverAddress): void {
  const ca = readFileSync(certificateFile);
  const portOf: Readonly<Record<string, number>> = {
    'api.push.apple.com': ports.apns,
    'fcm.googleapis.com': ports.fcm,
    'oauth2.googleapis.com': ports.token,
    'www.googleapis.com': ports.token,
    localhost: ports.webpush,
  };
  const { connect } = tls;
  // `tls.connect` takes options, or a port, a host and options.
  const connectToReceiver = (...parameters: unknown[]) => {
    const [, second] = parameters;
    const given: tls.ConnectionOptions = Object.assign({}, ...parameters.filter((each) => typeof each === 'object'));
    const host = given.host ?? (typeof second === 'string' ? second : '');
    const port = portOf[host];
    if (port === undefined) throw new Error(`a peer wants to reach ${host}`);
    const onSecure = parameters.find((each) => typeof each === 'function') as (() => void) | undefined;
    return connect({ ...given, host: '127.0.0.1', port, servername: 'localhost', ca }, onSecure);
  };
  Object.assign(tls, { connect: connectToReceiver });
}
