// One client of `http2`, as a process of its own: 100 requests in flight, and its own CPU time. `own` is our client as the
// service uses it, with pool, promises and deadlines; `node` is a bare loop over node:http2 that has none of them.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:tls';
import { ownEngine } from '../../../server/src/platform/http2/own-session.ts';
import { Http2Pool } from '../../../server/src/platform/http2/pool.ts';
import {
  apnsIdOf,
  body,
  type ClientName,
  certificateFile,
  constants,
  inFlight,
  type Measured,
  pathOf,
} from './plan.ts';

const authority = 'localhost';
const unindexed = ['apns-id'];

type Send = (number: number) => Promise<void>;

function openOwn(port: number): Send {
  const ca = readFileSync(certificateFile);
  const pool = new Http2Pool({
    engine: ownEngine,
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
    const result = await pool.request({ authority, path, headers, body, unindexed, timeoutMs: 10_000 });
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

const [name = '', port = '', warmUp = '', count = ''] = process.argv.slice(2);
const client: ClientName = name === 'own' ? 'own' : 'node';
const send = client === 'own' ? openOwn(Number(port)) : await openNode(Number(port));
await sendAll(send, 0, Number(warmUp));
const cpuBefore = process.cpuUsage();
const startedAt = performance.now();
await sendAll(send, Number(warmUp), Number(count));
const seconds = (performance.now() - startedAt) / 1_000;
const cpu = process.cpuUsage(cpuBefore);
const measured: Measured = { perSecond: Number(count) / seconds, cpuUs: (cpu.user + cpu.system) / Number(count) };
process.send?.(measured, () => process.exit(0));
