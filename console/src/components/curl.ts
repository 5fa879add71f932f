// Requests of the API as commands, to be copied.

/** A request as a command of curl, against this service. */
export function curlOf(path: string, key: string, body: object): string {
  const short = JSON.stringify(body);
  // The lines of a long body stand below its option.
  const text = short.length <= 60 ? short : JSON.stringify(body, null, 2).replaceAll('\n', '\n  ');
  return [
    `curl ${window.location.origin}${path} \\`,
    `  -H 'authorization: Bearer ${key}' \\`,
    `  -H 'content-type: application/json' \\`,
    `  -d '${text.replaceAll("'", "'\\''")}'`,
  ].join('\n');
}
