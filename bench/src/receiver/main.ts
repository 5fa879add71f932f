// The receiver's process: a push service for each channel and Google's endpoint for access tokens,
// each on its own port. All measured sides send here. It accepts without looking, and counts.
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { createServer } from 'node:tls';
import { certificateFile, keyFile } from '../../../rig/src/certificate.ts';
import { type ChannelId, channelIds } from '../../../server/src/sending/channels/channel.ts';
import { serveParent } from '../child-end.ts';
import { type AnswerForm, answerForms, locationOf } from './answers.ts';
import { serveConnection } from './connection.ts';
import type { Counts, Ports, ToReceiver } from './messages.ts';

const identity = { cert: readFileSync(certificateFile), key: readFileSync(keyFile), noDelay: true };

const pushes: Record<ChannelId, number> = { webpush: 0, apns: 0, fcm: 0 };
let arrivedAtMs: number[] = [];
let latencyMs = 0;
let refuseEvery = 0;
let refused = 0;
let notesArrivals = false;
let numbered = 0;

function count(channel: ChannelId, requests: number): number {
  pushes[channel] += requests;
  if (notesArrivals) {
    const nowMs = performance.timeOrigin + performance.now();
    for (let i = 0; i < requests; i += 1) arrivedAtMs.push(nowMs);
  }
  const first = numbered;
  numbered += requests;
  return first;
}

/** Numbers count up over all connections, so refusals are spread evenly over all batches. */
function isRefused(number: number): boolean {
  if (refuseEvery === 0 || number % refuseEvery !== 0) return false;
  refused += 1;
  return true;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function openService(channel: ChannelId, http1?: Server): Promise<number> {
  const protocols = http1 === undefined ? ['h2'] : ['h2', 'http/1.1'];
  const server = createServer({ ...identity, ALPNProtocols: protocols }, (socket) => {
    if (socket.alpnProtocol === 'h2') {
      const desk = {
        form: forms[channel],
        count: (requests: number) => count(channel, requests),
        latencyMs: () => latencyMs,
        isRefused,
      };
      serveConnection(socket, desk);
    } else if (http1 === undefined) socket.destroy();
    else http1.emit('connection', socket);
  });
  return listen(server);
}

/** Serves clients without HTTP/2 on the same port: each connection negotiates its protocol. */
const browsersOverHttp1 = createHttpServer((request, response) => {
  request.resume();
  request.once('end', () => {
    const location = locationOf(origin, count('webpush', 1));
    const answer = () => response.writeHead(201, { location, 'content-length': 0 }).end();
    if (latencyMs === 0) answer();
    else setTimeout(answer, latencyMs);
  });
});

// Peers keep their connections. One that the server ends while a busy machine pauses would be an
// error of the peer. 0 keeps them for good.
browsersOverHttp1.keepAliveTimeout = 0;

let given = 0;
const tokens = createHttpsServer(identity, (request, response) => {
  request.resume();
  request.once('end', () => {
    given += 1;
    const token = { access_token: `ya29.c.${'bench'.repeat(30)}${given}`, expires_in: 3_599, token_type: 'Bearer' };
    response.writeHead(200, { 'content-type': 'application/json; charset=UTF-8' }).end(JSON.stringify(token));
  });
});

const ports: Ports = {
  webpush: await openService('webpush', browsersOverHttp1),
  apns: await openService('apns'),
  fcm: await openService('fcm'),
  token: await listen(tokens),
};
const origin = `https://localhost:${ports.webpush}`;
const forms: Readonly<Record<ChannelId, AnswerForm>> = answerForms(origin);

serveParent((question: ToReceiver): Ports | Counts | undefined => {
  if (question.type === 'where') return ports;
  if (question.type === 'counts') return { pushes, refused, arrivedAtMs };
  for (const channel of channelIds) pushes[channel] = 0;
  arrivedAtMs = [];
  refused = 0;
  ({ latencyMs, refuseEvery, notesArrivals } = question);
  return undefined;
});
