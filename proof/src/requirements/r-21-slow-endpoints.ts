// endpoints take as long as they can. Each request ends after five seconds, and no
// endpoint makes memory grow.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { certificateFile, keyFile } from '../../../rig/src/certificate.ts';
import { rightClock } from '../../../rig/src/settable-clocks.ts';
import { stopChild, type Workbench } from '../../../rig/src/workbench.ts';
import {
  createAddressGuard,
  parseOutboundExceptions,
  type Resolver,
} from '../../../server/src/ground/outbound/address-guard.ts';
import { createOutboundHttp } from '../../../server/src/ground/outbound/http.ts';
import { createOutboundSockets } from '../../../server/src/ground/outbound/socket.ts';
import { type PostResult, postEvent } from '../../../server/src/sending/webhooks/post-event.ts';
import type { Requirement } from '../requirement.ts';

const cert = readFileSync(certificateFile);
const key = readFileSync(keyFile);
const ms = { least: 4_950, most: 5_250 };
const memoryMbMax = 20;

function sender(resolver?: Resolver): (endpoint: string, pool: string) => Promise<PostResult> {
  const exceptions = parseOutboundExceptions({
    allowCidrs: ['127.0.0.0/8'],
    allowPorts: '1024-65535',
    ca: cert.toString(),
  });
  const http = createOutboundHttp(
    createOutboundSockets(createAddressGuard({ exceptions, ...(resolver && { resolver }) })),
  );
  const deps = { http, clock: rightClock, rules: { exceptions, ownHosts: [] } };
  return (endpoint, pool) =>
    postEvent(deps, {
      endpoint,
      pool,
      secretsAt: () => ['whsec_a'],
      event: 'message.sent',
      body: Buffer.from('{}'),
      headers: {},
    });
}

async function listen(workbench: Workbench, server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  workbench.onClose(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `https://localhost:${(server.address() as AddressInfo).port}/hooks`;
}

function overTls(workbench: Workbench, head: string, then: (socket: TLSSocket) => void = () => undefined) {
  const server = createTlsServer({ cert, key }, (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(head);
      then(socket);
    });
  });
  return listen(workbench, server);
}

function drip(socket: TLSSocket): void {
  const timer = setInterval(() => socket.write('x'), 1_000);
  socket.once('close', () => clearInterval(timer));
}

const neverListens = `
  const server = require('node:net').createServer();
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    console.log(server.address().port);
    setTimeout(() => process.kill(process.pid, 'SIGSTOP'), 50);
  });`;

/**
 * A port whose queue is full and whose process is stopped, so that a connection to it is never
 * established.
 */
async function neverAccepts(workbench: Workbench): Promise<string> {
  const child: ChildProcess = spawn(process.execPath, ['-e', neverListens], { stdio: ['ignore', 'pipe', 'inherit'] });
  workbench.onClose(() => stopChild(child, 'SIGKILL'));
  if (!child.stdout) throw new Error('the port has no process');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const port = Number(line);
  await sleep(200);
  const fillers = Array.from({ length: 8 }, () => connect({ port, host: '127.0.0.1' }));
  for (const filler of fillers) filler.on('error', () => undefined);
  workbench.onClose(async () => {
    for (const filler of fillers) filler.destroy();
  });
  await sleep(500);
  return `https://localhost:${port}/hooks`;
}

const pouring = fileURLToPath(new URL('../../../rig/src/pouring-endpoints.mjs', import.meta.url));

async function startPouring(workbench: Workbench): Promise<{ readonly endless: string; readonly packed: string }> {
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  const child = spawn(process.execPath, [pouring, certificateFile, keyFile], { stdio: [...stdio] });
  workbench.onClose(() => stopChild(child, 'SIGKILL'));
  if (!child.stdout) throw new Error('the endpoints have no output');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const ports = JSON.parse(String(line)) as { endless: number; packed: number };
  const urlOf = (port: number): string => `https://localhost:${port}/hooks`;
  return { endless: urlOf(ports.endless), packed: urlOf(ports.packed) };
}

export const requirement: Requirement = {
  number: 'R-21',
  title: 'Five seconds for an endpoint, 16 KB of its body (R-22)',
  async run({ isQuick, report, workbench }) {
    const send = sender();
    const hangingName = sender(() => new Promise(() => undefined));
    const cases: [string, Promise<PostResult>, 'timeout' | null][] = [
      ['that never accepts', send(await neverAccepts(workbench), 'a'), 'timeout'],
      ['that accepts, and does not greet', send(await listen(workbench, createTcpServer()), 'b'), 'timeout'],
      ['that greets, and stays silent', send(await overTls(workbench, ''), 'c'), 'timeout'],
      [
        'that sends a byte of its headers a second',
        send(await overTls(workbench, 'HTTP/1.1 200 OK\r\nx: ', drip), 'd'),
        'timeout',
      ],
      [
        'that sends a 200, and then a byte of its body a second',
        send(await overTls(workbench, 'HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n', drip), 'e'),
        null,
      ],
      ['whose name is never resolved', hangingName('https://hooks.shop.example/', 'f'), 'timeout'],
    ];
    for (const [name, result, error] of cases) {
      const { durationMs, ...came } = await result;
      report.claim(
        `an endpoint ${name} is over after five seconds`,
        `${durationMs} ms, ${came.error ?? came.statusCode}`,
        [
          ...(came.error === error ? [] : [`it came to ${came.error}`]),
          ...(durationMs >= ms.least && durationMs <= ms.most ? [] : [`it took ${durationMs} ms`]),
        ],
      );
    }

    const { endless, packed } = await startPouring(workbench);
    // The first request of each kind allocates what later ones reuse, so it is made before the
    // measurement.
    await Promise.all([send(endless, 'g'), send(packed, 'h')]);
    globalThis.gc?.();
    const before = process.memoryUsage().rss;
    let peak = before;
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5);
    const complaints: string[] = [];
    for (let i = 0; i < (isQuick ? 20 : 200); i++) {
      for (const endpoint of [endless, packed]) {
        const { statusCode, error } = await send(endpoint, 'i');
        if (statusCode !== 200 || error !== null) complaints.push(`one came to ${statusCode} ${error}`);
      }
    }
    clearInterval(watch);
    const grownMb = (peak - before) / 1e6;
    if (grownMb > memoryMbMax) complaints.push(`memory grew by ${grownMb.toFixed(0)} MB`);
    report.claim(
      'endless bodies and what unpacks to 50 MB do not make memory grow by 20 MB',
      `${isQuick ? 40 : 400} requests, ${grownMb.toFixed(1)} MB`,
      complaints,
    );
  },
};
