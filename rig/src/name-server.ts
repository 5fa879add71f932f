// A name server over UDP whose answers a test makes for each question, with a TTL of 0, and a
// resolver that asks it. The service itself uses the system's resolver.
import { createSocket } from 'node:dgram';
import { Resolver as DnsResolver } from 'node:dns/promises';
import { once } from 'node:events';
import { isIP } from 'node:net';
import type { Resolver } from '../../server/src/ground/outbound/address-guard.ts';

/**
 * The answer contains the addresses of the requested family. With `alias`, the name is an alias,
 * and the addresses belong to the alias.
 */
export interface NameAnswer {
  readonly alias?: string;
  readonly addresses: readonly string[];
}

export interface NameServer {
  readonly resolver: Resolver;
  /** Questions for IPv4 addresses, one for each lookup. */
  readonly lookups: number;
  close(): void;
}

const typeA = 1;
const typeCname = 5;
const typeAaaa = 28;

/** `answer` returns undefined for a name that does not exist. */
export async function startNameServer(answer: (name: string) => NameAnswer | undefined): Promise<NameServer> {
  const socket = createSocket('udp4');
  let lookups = 0;
  socket.on('message', (query, peer) => {
    const question = readQuestion(query);
    if (question.type === typeA) lookups++;
    socket.send(encodeAnswer(query, question, answer(question.name)), peer.port, peer.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const dns = new DnsResolver({ timeout: 2_000, tries: 2 });
  dns.setServers([`127.0.0.1:${socket.address().port}`]);
  return {
    async resolver(host) {
      const [four, six] = await Promise.allSettled([dns.resolve4(host), dns.resolve6(host)]);
      if (four.status === 'rejected' && six.status === 'rejected') throw four.reason;
      return [four, six].flatMap((family) =>
        family.status === 'rejected' ? [] : family.value.map((address) => ({ address, family: isIP(address) })),
      );
    },
    get lookups() {
      return lookups;
    },
    close: () => socket.close(),
  };
}

interface Question {
  readonly name: string;
  readonly type: number;
  /** The end of the name in the message. */
  readonly end: number;
}

function readQuestion(query: Buffer): Question {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function encodeAnswer(query: Buffer, { name, type, end }: Question, answer: NameAnswer | undefined): Buffer {
  const { alias, addresses = [] } = answer ?? {};
  const wanted = addresses.filter((address) => isIP(address) === (type === typeA ? 4 : 6));
  const owner = alias ?? name;
  const records = [
    ...(alias === undefined ? [] : [record(name, typeCname, encodeName(alias))]),
    ...wanted.map((address) => record(owner, type === typeA ? typeA : typeAaaa, encodeAddress(address))),
  ];
  const header = Buffer.from(query.subarray(0, 12));
  // A response with recursion available; NXDOMAIN for a name that does not exist.
  header.writeUInt16BE(answer === undefined ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  header.writeUInt16BE(0, 8);
  header.writeUInt16BE(0, 10);
  return Buffer.concat([header, query.subarray(12, end), ...records]);
}

function record(name: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  // A TTL of 0, so that each lookup asks again.
  fixed.writeUInt32BE(0, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([encodeName(name), fixed, data]);
}

function encodeName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function encodeAddress(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  // `new URL` writes any spelling of an address in groups of hexadecimal digits.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const before = groups(head);
  const after = groups(tail ?? '');
  const zeros = Array.from({ length: tail === undefined ? 0 : 8 - before.length - after.length }, () => '0');
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join(''), 'hex');
}
