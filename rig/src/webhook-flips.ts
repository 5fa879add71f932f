// sends to a name that resolves to another address at every question, with listeners at
// addresses that must not be reached. Used by the test and by the proof at full size.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { createAddressGuard, parseOutboundExceptions } from '../../server/src/ground/outbound/address-guard.ts';
import { createOutboundHttp } from '../../server/src/ground/outbound/http.ts';
import { createOutboundSockets } from '../../server/src/ground/outbound/socket.ts';
import { postEvent } from '../../server/src/sending/webhooks/post-event.ts';
import { certificateFile, keyFile } from './certificate.ts';
import { type NameAnswer, startNameServer } from './name-server.ts';
import { createRandom, type Random } from './random.ts';
import { rightClock } from './settable-clocks.ts';

/** The host name in the certificate. */
const host = 'push.test.example';
/** The only address that counts as public here; the receiver listens on it. */
const receiverAddress = '127.0.0.1';

/** Addresses that are not public, in many spellings and through gateways. */
export const privateAddresses: readonly string[] = [
  ...['127.0.0.2', '127.255.255.254', '0.0.0.0', '10.0.0.1', '100.64.0.1', '169.254.169.254', '172.16.0.1'],
  ...['192.0.0.1', '192.0.2.1', '192.168.0.1', '198.18.0.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
  ...['::', '::1', '::127.0.0.2', '::ffff:127.0.0.2', '::ffff:10.0.0.1', '::ffff:169.254.169.254'],
  ...['::ffff:0:127.0.0.2', '64:ff9b::127.0.0.2', '64:ff9b::a9fe:a9fe', '64:ff9b:1::7f00:2', '2002:7f00:2::1'],
  ...['2002:a9fe:a9fe::1', '2001:0:4136:e378:8000:63bf:80ff:fffd', '100::1', '2001:db8::1', '3fff::1', '5f00::1'],
  ...['fc00::1', 'fd00:ec2::254', 'fe80::1', 'fec0::1', 'ff02::1'],
];

export interface Flips {
  readonly sends: number;
  readonly acknowledged: number;
  readonly blocked: number;
  readonly unresolved: number;
  /** The results of sends with another ending. */
  readonly others: readonly string[];
  /** Lookups of the name. */
  readonly lookups: number;
  /** Every address that a connection was begun to, except the receiver's. */
  readonly attempted: readonly string[];
  /** Addresses at which connections arrived, except the receiver's. */
  readonly arrivedAt: readonly string[];
  /** Requests that the receiver got. */
  readonly received: number;
}

/** Sends this many webhooks, some at once. */
export async function sendThroughFlips({ sends, seed }: { sends: number; seed: number }): Promise<Flips> {
  const random = createRandom(seed);
  const names = await startNameServer(() => drawAnswer(random));
  const receiver = await listenEverywhere();
  const exceptions = parseOutboundExceptions({
    allowCidrs: [`${receiverAddress}/32`],
    allowPorts: String(receiver.port),
    ca: certificate,
  });
  const sockets = createOutboundSockets(createAddressGuard({ exceptions, resolver: names.resolver }));
  const attempted: string[] = [];
  const http = createOutboundHttp({
    open(origin, alpn) {
      const socket = sockets.open(origin, alpn);
      socket.on('connectionAttempt', (address: string) => {
        if (address !== receiverAddress) attempted.push(address);
      });
      return socket;
    },
  });

  const results = new Map<string, number>();
  let begun = 0;
  const sender = async (number: number): Promise<void> => {
    while (begun++ < sends) {
      const { error } = await postEvent(
        { http, clock: rightClock, rules: { exceptions, ownHosts: [] } },
        {
          endpoint: `https://${host}:${receiver.port}/hooks`,
          pool: `webhook-${number}`,
          secretsAt: () => ['whsec_a'],
          event: 'message.sent',
          body: Buffer.from('{}'),
          headers: {},
        },
      );
      const word = error ?? 'acknowledged';
      results.set(word, (results.get(word) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, number) => sender(number)));
  http.close();
  names.close();
  await receiver.close();
  const { acknowledged = 0, blocked_address = 0, dns_error = 0, ...others } = Object.fromEntries(results);
  return {
    sends,
    acknowledged,
    blocked: blocked_address,
    unresolved: dns_error,
    others: Object.keys(others),
    lookups: names.lookups,
    attempted,
    arrivedAt: receiver.arrivedAt,
    received: receiver.received,
  };
}

const certificate = readFileSync(certificateFile, 'utf8');
const key = readFileSync(keyFile, 'utf8');

function drawAnswer(random: Random): NameAnswer | undefined {
  const bad = () => random.pick(privateAddresses);
  switch (random.below(8)) {
    case 0:
      return undefined;
    case 1:
      return { addresses: [bad()] };
    case 2:
      return { addresses: [receiverAddress, bad()] };
    case 3:
      return { addresses: [bad(), bad(), receiverAddress] };
    case 4:
      return { alias: 'elsewhere.test.example', addresses: [bad()] };
    case 5:
      return { alias: 'elsewhere.test.example', addresses: [receiverAddress] };
    default:
      return { addresses: [receiverAddress] };
  }
}

/**
 * Listens on every address of this machine, so that a connection to another address than the
 * receiver's is seen.
 */
async function listenEverywhere() {
  const arrivedAt: string[] = [];
  let received = 0;
  // Closes each connection, so that the next send resolves the name again.
  const server = createServer({ cert: certificate, key }, (request, response) => {
    received++;
    request.resume();
    request.on('end', () => response.writeHead(200, { connection: 'close' }).end());
  });
  server.on('connection', ({ localAddress = '' }: Socket) => {
    if (localAddress !== receiverAddress) arrivedAt.push(localAddress);
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const six = createServer({ cert: certificate, key });
  six.on('connection', ({ localAddress = '' }: Socket) => arrivedAt.push(localAddress));
  six.on('error', () => undefined);
  // Without IPv6 on this machine, no connection can go there.
  six.listen({ port, host: '::', ipv6Only: true });
  return {
    port,
    arrivedAt,
    get received() {
      return received;
    },
    async close() {
      for (const one of [server, six]) {
        one.closeAllConnections();
        if (one.listening) await new Promise((resolve) => one.close(resolve));
      }
    },
  };
}
