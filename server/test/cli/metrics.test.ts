// METRICS_PORT: one answer for all processes of a start.
import { describe, expect, it } from 'vitest';
import { findFreePort } from '../../../rig/src/ports.ts';
import { setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();

async function scrape(port: number, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`, { headers });
  return response.ok ? response.text() : `status ${response.status}`;
}

const valueIn = (text: string, name: string): number | undefined => {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
};

describe('METRICS_PORT', () => {
  it('answers for the API and its workers together, and no counter decreases when a process dies', async () => {
    const port = await findFreePort();
    const service = cli.start({ METRICS_PORT: String(port) });
    const { address } = await service.document();
    for (let i = 0; i < 3; i++) await fetch(`${address}/v1/channels`);
    const answered = 'carillon_http_requests_total{method="GET",route="/v1/channels",status="200"}';
    const before = await scrape(port);
    expect(valueIn(before, answered)).toBe(3);
    expect(valueIn(before, 'carillon_database_up')).toBe(1);
    for (const process of ['api', 'worker-1']) {
      expect(valueIn(before, `carillon_process_resident_memory_bytes{process="${process}"}`)).toBeGreaterThan(0);
    }
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(404);
    expect((await fetch(`${address}/metrics`)).status).toBe(404);

    for (const pid of service.children()) process.kill(pid, 'SIGKILL');
    const begunIn = (text: string) => valueIn(text, 'carillon_process_start_time_seconds{process="api"}');
    let after = await scrape(port);
    while ([undefined, begunIn(before)].includes(begunIn(after))) after = await scrape(port);
    expect(valueIn(after, answered)).toBe(3);
  });

  it('with a token requires it, and the main port gives the same text for it', async () => {
    const port = await findFreePort();
    const service = cli.start({ METRICS_PORT: String(port), METRICS_TOKEN: 'sixteen-letters!' });
    const { address } = await service.document();
    const headers = { authorization: 'Bearer sixteen-letters!' };
    expect(await scrape(port)).toBe('status 401');
    expect(await scrape(port, { authorization: 'Bearer sixteen-letters?' })).toBe('status 401');
    const own = await scrape(port, headers);
    const main = await (await fetch(`${address}/metrics`, { headers })).text();
    for (const text of [own, main]) {
      for (const process of ['api', 'worker-1']) expect(text).toContain(`_heap_used_bytes{process="${process}"}`);
    }
  });
});
