// Headers of requests and answers that several parts of the server read or write.
import type { IncomingMessage } from 'node:http';
import type { ApiError } from './api-error.ts';

/** Returns all values of a header as they were sent. `name` is in lower case. */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const written = rawHeaders[i] ?? '';
    if (written.length === name.length && written.toLowerCase() === name) values.push(rawHeaders[i + 1] ?? '');
  }
  return values;
}

/** Returns the value of `Retry-After`, in whole seconds, at least one. Undefined: there is none. */
export function retryAfterOf({ details: { retryAfterMs } }: ApiError): string | undefined {
  return retryAfterMs === undefined ? undefined : String(Math.max(1, Math.ceil(retryAfterMs / 1000)));
}
