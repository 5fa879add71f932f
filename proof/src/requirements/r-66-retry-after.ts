// a refusal says how long to wait, in its header and in its body. A caller that waits exactly
// that long is admitted, 100 times of 100.
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiAnswer, type ApiNodes, callApi, startApiNodes } from '../../../rig/src/api-nodes.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

interface Refusal {
  readonly error?: string;
  readonly retry_after_ms?: number;
}

/** The number of keys that wait at the same time. */
const keysAtOnce = { full: 10, quick: 2 };

/** Sends requests until one is refused, and checks the form of the refusal. */
async function exhaust(url: string, key: string, complaints: string[]): Promise<ApiAnswer<Refusal>> {
  for (;;) {
    const answer = await callApi<Refusal>(url, { key });
    const { headers, json, status } = answer;
    if (headers['ratelimit-policy'] !== '"key";q=10;w=1') complaints.push(`policy ${headers['ratelimit-policy']}`);
    if (!/^"key";r=\d+;t=[01]$/.test(String(headers['ratelimit']))) complaints.push(`limit ${headers['ratelimit']}`);
    if (status === 200) continue;
    const isWhole = /^[1-9]\d*$/.test(String(headers['retry-after']));
    if (status !== 429 || json.error !== 'rate_limited' || !isWhole || !(Number(json.retry_after_ms) >= 1)) {
      complaints.push(`${status} with Retry-After ${headers['retry-after']}: ${JSON.stringify(json)}`);
    }
    return answer;
  }
}

async function proveWaiting(
  { nodes, run }: ApiNodes,
  { isQuick, report }: ProofOptions,
  by: 'Retry-After' | 'retry_after_ms',
): Promise<void> {
  const [node] = nodes;
  const url = `${node?.url}/v1/config`;
  const rounds = isQuick ? 1 : 10;
  const keys = isQuick ? keysAtOnce.quick : keysAtOnce.full;
  let admitted = 0;
  const complaints: string[] = [];
  const wait = async (): Promise<void> => {
    const { server_key: key } = await run<{ server_key: string }>('app', 'create', `Waits ${by}`, '--plan', 'free');
    for (let round = 0; round < rounds; round++) {
      const { headers, json } = await exhaust(url, key, complaints);
      await sleep(by === 'Retry-After' ? Number(headers['retry-after']) * 1000 : Number(json.retry_after_ms));
      const { status } = await callApi(url, { key });
      if (status === 200) admitted++;
      else complaints.push(`refused after ${headers['retry-after']} s, ${json.retry_after_ms} ms: ${status}`);
    }
  };
  await Promise.all(Array.from({ length: keys }, wait));
  report.claim(`waiting ${by} admits the next request`, `${admitted} of ${rounds * keys}`, complaints);
}

export const requirement: Requirement = {
  number: 'R-66',
  title: 'A refusal tells how long to wait, and that is long enough',
  async run(options) {
    const nodes = await startApiNodes(options.workbench, { count: 1 });
    await proveWaiting(nodes, options, 'Retry-After');
    await proveWaiting(nodes, options, 'retry_after_ms');
  },
};
