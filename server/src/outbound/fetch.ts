// `fetch` for the provider of OpenID Connect, whose address the operator chose. Unlike the global
// one it trusts the further certificate authority, reads a bounded answer and follows no redirect.
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { rootCertificates } from 'node:tls';

/** A description of a provider or its keys has a few kilobytes. */
const bodyBytesMax = 512 * 1024;

export interface FetchOptions {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Makes the function. `ca`: a further certificate authority, as PEM. */
export function createFetch(ca: string | undefined): (url: string, options: FetchOptions) => Promise<Response> {
  const trust = ca === undefined ? {} : { ca: [...rootCertificates, ca] };
  return (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const send = url.startsWith('https:') ? requestHttps : requestHttp;
      const request = send(url, { method, headers: { ...headers }, ...trust, ...(signal && { signal }) }, (answer) => {
        read(answer).then(resolve, reject);
      });
      request.on('error', reject);
      const isEmpty = body === undefined || body === null;
      request.end(isEmpty ? undefined : body instanceof Uint8Array ? body : String(body));
    });
}

async function read(answer: IncomingMessage): Promise<Response> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bodyBytesMax) throw new Error(`the answer is longer than ${bodyBytesMax} bytes`);
    chunks.push(chunk);
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headersDistinct)) {
    for (const each of value ?? []) headers.append(name, each);
  }
  const status = answer.statusCode ?? 500;
  const hasBody = status !== 204 && status !== 304;
  return new Response(hasBody ? Buffer.concat(chunks) : null, { status, headers });
}
