// One client of `http2` in a process of its own, with 100 requests in flight, which measures its
// own CPU time. `own` is Carillon's client as the service uses it, with pool, promises and
// deadlines. `node` is a bare loop over node:http2 without them.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:tls';
import { Http2Pool, ownEngine } from '@carillon/http2';
import { certificateFile } from '../../../rig/src/certificate.ts';
import { serveParent } from '../child-end.ts';
import { apnsIdOf, body, type ClientName, type ClientRun, constants, inFlight, pathOf, type ToClient } from './plan.ts';

const authority = 'localhost';
const unindexed = ['apns-id'];

type Send = (number: number) => Promise<void>;

function openOwn(port: number): Send {
  const ca = readFileSync(certificateFile);
  const pool = new Http2Pool({
    engine: ownEngine,
    authority,
    open: () => connect({ port, host: '127.0.0.1', servername: authority, ca, ALPNProtocols: ['h2'] }),
    sessionsMax: 1,
    streamsMax: inFlight,
    connectTimeoutMs: 10_000,
    idleMs: 60_000,
  });
  return async (number) => {
    const headers = {
      authorization: constants.authorization,
      'apns-topic': constants.topic,
      'apns-push-type': constants.pushType,
      'apns-priority': constants.priority,
      'apns-expiration': constants.expiration,
      'apns-id': apnsIdOf(number),
    };
    const path = pathOf(number);
    const result = await pool.request({ path, headers, body, unindexed, timeoutMs: 10_000 });
    if (!('status' in result) || result.status !== 200) throw new Error(`failed: ${JSON.stringify(result)}`);
  };
}

async function openNode(port: number): Promise<Send> {
  const session = connectHttp2(`https://${authority}:${port}`, {
    ca: readFileSync(certificateFile),
    maxSessionMemory: 64,
  });
  await once(session, 'remoteSettings');
  return (number) =>
    new Promise((resolve, reject) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': pathOf(number),
        authorization: constants.authorization,
        'apns-topic': constants.topic,
        'apns-push-type': constants.pushType,
        'apns-priority': constants.priority,
        'apns-expiration': constants.expiration,
        'apns-id': apnsIdOf(number),
        'content-length': body.length,
      });
      let status = 0;
      stream.once('response', (answer) => {
        status = answer[':status'] ?? 0;
      });
      stream.once('error', reject);
      stream.once('close', () => (status === 200 ? resolve() : reject(new Error(`answered ${status}`))));
      stream.resume();
      stream.end(body);
    });
}

async function sendAll(send: Send, from: number, count: number): Promise<void> {
  let next = from;
  const sendInTurn = async () => {
    for (; next < from + count; ) await send(next++);
  };
  await Promise.all(Array.from({ length: inFlight }, sendInTurn));
}

const client: ClientName = process.argv[2] === 'own' ? 'own' : 'node';

serveParent(async ({ port, warmUp, count }: ToClient): Promise<ClientRun> => {
  const send = client === 'own' ? openOwn(port) : await openNode(port);
  await sendAll(send, 0, warmUp);
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  await sendAll(send, warmUp, count);
  const seconds = (performance.now() - startedAt) / 1_000;
  const cpu = process.cpuUsage(cpuBefore);
  return { perSecond: count / seconds, cpuUs: (cpu.user + cpu.system) / count };
});
