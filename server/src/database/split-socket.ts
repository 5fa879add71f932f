// An address in libpq's form that names a Unix socket, for a driver that wants the socket apart.

/**
 * Splits an address in two parts for the `postgres` driver, which would send `?host=/directory` to
 * the server as a setting: `const { address, ...socket } = splitSocket(url)`, then
 * `postgres(address, { ...socket })`.
 */
export function splitSocket(url: string): { address: string; host?: string } {
  if (!url.includes('host=')) return { address: url };
  const address = new URL(url);
  const host = address.searchParams.get('host');
  address.searchParams.delete('host');
  return host ? { address: address.href, host } : { address: url };
}
