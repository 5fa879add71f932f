// Plays a customer's backend: JSON over kept-alive HTTP/1.1, one request at a time.
import { Agent, request } from 'node:http';
import { RunError } from '../../rig/src/workbench.ts';

const agent = new Agent({ keepAlive: true });
/** Longer than any answer takes: a send is answered within SEND_WAIT_MS. */
const timeoutMs = 120_000;

export interface Call {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly key?: string;
  readonly body?: object;
}

/** The status and the JSON of an answer. Rejects when no answer comes. */
function callApi({ method, url, key, body }: Call): Promise<{ status: number; json: unknown }> {
  return new Promise((resolve, reject) => {
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const headers = {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(payload === undefined ? {} : { 'content-type': 'application/json', 'content-length': payload.length }),
    };
    const asked = request(url, { method, agent, headers, timeout: timeoutMs }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        try {
          resolve({ status: response.statusCode ?? 0, json: text === '' ? undefined : JSON.parse(text) });
        } catch {
          reject(new RunError(`${method} ${url} answered ${response.statusCode} without JSON: ${text.slice(0, 200)}`));
        }
      });
    });
    asked.on('timeout', () => asked.destroy(new RunError(`${method} ${url} was not answered within ${timeoutMs} ms`)));
    asked.on('error', reject);
    asked.end(payload);
  });
}

/** The JSON of a 2xx answer. Rejects with the answer's text for any other status. */
export async function callForJson<Json>(call: Call): Promise<Json> {
  const { status, json } = await callApi(call);
  if (status >= 200 && status < 300) return json as Json;
  throw new RunError(`${call.method} ${call.url} answered ${status}: ${JSON.stringify(json).slice(0, 500)}`);
}
