// For clients that know the vendors' addresses and no other: while a test runs, their connections to those names end at
// the sandbox and trust its certificate. It touches the socket and nothing above it: what the client says stays its own.
import tls from 'node:tls';
import { onTestFinished, vi } from 'vitest';
import type { Sandbox } from '../src/sandbox.ts';

/** `addresses`: host names, asked for at port 443, each with the address of the sandbox that stands for it. Once a test. */
export function routeTls(sandbox: Sandbox, addresses: Readonly<Record<string, string>>): void {
  const connect = tls.connect;
  const route = (options: tls.ConnectionOptions): tls.ConnectionOptions => {
    const host = options.host ?? 'localhost';
    const to = Number(options.port) === 443 ? addresses[host] : undefined;
    if (to === undefined) return { ...options, ca: sandbox.certificate };
    const servername = options.servername ?? host;
    return { ...options, ca: sandbox.certificate, host: '127.0.0.1', port: Number(new URL(to).port), servername };
  };
  // Node's own callers give either one object, or port, host and options.
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
