// Requests of the API as commands, to be copied.

/** A request as a command of curl, against this service. */
export function curlOf(path: string, key: string, body: object): string {
  const short = JSON.stringify(body);
  const text = (short.length <= 60 ? short : JSON.stringify(body, null, 2)).replaceAll("'", "'\\''");
  return [
    `curl ${window.location.origin}${path} \\`,
    `  -H 'authorization: Bearer ${key}' \\`,
    `  -H 'content-type: application/json' \\`,
    `  -d '${text}'`,
  ].join('\n');
}
