// For clients that know only the vendors' addresses: while a test runs, their connections to these
// names end at the sandbox and trust its certificate. Only the socket is changed; everything above
// it is the client's own.
import tls from 'node:tls';
import { onTestFinished, vi } from 'vitest';
import type { Sandbox } from '../src/sandbox.ts';

/**
 * `addresses` maps host names, used at port 443, to the sandbox's addresses that stand for them.
 * Call it once per test.
 */
export function routeTls(sandbox: Sandbox, addresses: Readonly<Record<string, string>>): void {
  const connect = tls.connect;
  const route = (options: tls.ConnectionOptions): tls.ConnectionOptions => {
    const host = options.host ?? 'localhost';
    const to = Number(options.port) === 443 ? addresses[host] : undefined;
    if (to === undefined) return { ...options, ca: sandbox.certificate };
    const servername = options.servername ?? host;
    return { ...options, ca: sandbox.certificate, host: '127.0.0.1', port: Number(new URL(to).port), servername };
  };
  // Node's own callers pass either one object, or port, host and options.
  const spy = vi
    .spyOn(tls, 'connect')
    .mockImplementation(((first: unknown, second: unknown, third: unknown) =>
      typeof first === 'object' && first !== null
        ? connect(route(first), second as () => void)
        : connect(
            route({ port: Number(first), host: String(second), ...(third as tls.ConnectionOptions) }),
          )) as typeof tls.connect);
  onTestFinished(() => spy.mockRestore());
}
