// Sends bodies to one route over a kept connection and reads the status of each answer.
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Sender {
  /** The status. After a 429 it waits and sends again. */
  (body: Buffer): Promise<number>;
  close(): void;
}

interface Place {
  readonly method: string;
  readonly path: string;
  readonly key: string;
}

export interface Answered {
  readonly status: number;
  readonly retryAfterMs: number;
}

export function sendOnce(agent: Agent, port: number, { method, path, key }: Place, body: Buffer): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': body.length,
    };
    const asked = request({ port, host: '127.0.0.1', method, path, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode: status = 0 } = response;
        const text = status === 429 ? Buffer.concat(chunks).toString() : '{}';
        resolve({ status, retryAfterMs: Number(JSON.parse(text).retry_after_ms ?? 0) });
      });
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

export function createSender(port: number, place: Place): Sender {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send = async (body: Buffer): Promise<number> => {
    for (;;) {
      const { status, retryAfterMs } = await sendOnce(agent, port, place, body);
      if (status !== 429) return status;
      await sleep(retryAfterMs);
    }
  };
  return Object.assign(send, { close: () => agent.destroy() });
}
