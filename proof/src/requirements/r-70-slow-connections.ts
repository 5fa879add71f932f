// thousands of connections send a byte now and then and never a whole request, while other
// callers are served.
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { callApi, startApiNodes } from '../../../rig/src/api-nodes.ts';
import { percentile } from '../../../rig/src/measure.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

const inFlight = 8;
const byteEachMs = 1_000;
/** Longer than the time limit for a request's body. */
const cutAfterMs = 15_000;

/** Requests that never end: one in its headers, one in its body. */
const beginnings = [
  'GET /v1/channels HTTP/1.1\r\nHost: x\r\nX-Slow: ',
  'POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\nContent-Type: application/json\r\n\r\n{',
];

/** Milliseconds of each request until `isOver` says yes. */
async function ask(url: string, key: string, isOver: () => boolean): Promise<number[]> {
  const times: number[] = [];
  const lane = async (): Promise<void> => {
    while (!isOver()) {
      const startedAt = performance.now();
      const { status } = await callApi(`${url}/v1/messages?limit=1`, { key });
      if (status !== 200) throw new Error(`a good request is answered ${status}`);
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return times;
}

/** Opens connections that send slowly, and opens a new one for each that the service ends. */
function trickle(url: string, key: string, many: number) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let isOver = false;
  const counts = { opened: 0, cut: 0 };
  const open = (number: number): void => {
    const beginning = beginnings[number % beginnings.length] ?? '';
    const socket = connect({ host: hostname, port: Number(port) });
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('connect', () => {
      counts.opened++;
      socket.write(beginning.replace('Host: x\r\n', `Host: x\r\nAuthorization: Bearer ${key}\r\n`));
    });
    socket.resume();
    socket.on('close', () => {
      sockets.delete(socket);
      if (isOver) return;
      counts.cut++;
      open(number);
    });
  };
  for (let number = 0; number < many; number++) open(number);
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('1');
  }, byteEachMs);
  return {
    counts,
    get open() {
      return sockets.size;
    },
    end() {
      isOver = true;
      clearInterval(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

async function run({ isQuick, report, workbench }: ProofOptions): Promise<void> {
  const [connections, measureMs] = isQuick ? [200, 3_000] : [5_000, 20_000];
  const { nodes, run: command } = await startApiNodes(workbench, { count: 1 });
  const [{ url }] = nodes as [(typeof nodes)[0]];
  const { server_key: key } = await command<{ server_key: string }>('app', 'create', 'Slow', '--plan', 'unlimited');
  const measure = async (): Promise<number> => {
    const until = performance.now() + measureMs;
    return percentile(await ask(url, key, () => performance.now() > until), 0.99);
  };
  // Both cases are measured in turn, so that other work on the machine affects both.
  await measure();
  const alone = [await measure()];
  const slow = trickle(url, key, connections);
  workbench.onClose(async () => slow.end());
  while (slow.counts.opened < connections) await sleep(100);
  const beside = [await measure()];
  if (!isQuick) await sleep(cutAfterMs);
  const { cut } = slow.counts;
  beside.push(await measure());
  const open = slow.open;
  slow.end();
  await sleep(500);
  alone.push(await measure());
  const [before, during] = [mean(alone), mean(beside)];
  report.claim(
    `${connections} connections that never end a request at most double what the others wait (p99)`,
    `${before.toFixed(1)} ms alone, ${during.toFixed(1)} ms beside ${open} of them`,
    during <= 2 * before ? [] : [`${(during / before).toFixed(1)} times`],
  );
  if (isQuick) return;
  report.claim(
    'each of them is cut off',
    `${cut} within ${((measureMs + cutAfterMs) / 1000).toFixed(0)} s`,
    cut >= connections ? [] : [`only ${cut} of ${connections}`],
  );
}

export const requirement: Requirement = { number: 'R-70', title: 'Slow connections', run };
