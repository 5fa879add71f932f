// Thousands of repeatable peers that break the protocol (R-38b). Each plays one script of
// malformed, oversize, out-of-order or endless frames to an engine over a socket in memory. This
// module checks what must hold afterwards; the caller decides how many are played.
import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Http2Engine } from '@carillon/http2';
import { ByteWriter } from '../../packages/http2/src/byte-writer.ts';
import { FrameReader, frameTypes, readUint32, writeFrameHeader } from '../../packages/http2/src/frames.ts';
import type { Http2Result, Http2Session } from '../../packages/http2/src/session.ts';
import { createRandom, type Random } from './random.ts';

/**
 * The frames of one peer after its SETTINGS, while streams 1, 3 and 5 are open. It sends as many as
 * the engine reads.
 */
interface Script {
  readonly name: string;
  /**
   * True: the only right result is the end of the connection. False: any orderly result is right.
   */
  readonly isViolation: boolean;
  readonly frames: (random: Random) => Iterable<Buffer>;
  /** Sends no SETTINGS first. */
  readonly isAtStart?: boolean;
  /** The streams have no body to send, so no window needs to open. */
  readonly hasNoBodies?: boolean;
}

export interface FuzzOptions {
  /** The run ends after this many connections or frames; one of the two must be given. */
  readonly connections?: number;
  readonly frames?: number;
  readonly seed: number;
  /** Called repeatedly, also in the middle of floods. */
  readonly observe?: () => void;
}

export interface FuzzReport {
  readonly frames: number;
  readonly connections: number;
  /** The scripts that were played, with the number of frames that each sent. */
  readonly scripts: ReadonlyMap<string, number>;
  /** Violations, each with the seed that shows it again. Empty when there are none. */
  readonly complaints: readonly string[];
}

const requestsPerConnection = 3;
/** A script that can still send after this many frames was not stopped. */
const framesMax = 5_000;

function frame(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const out = new ByteWriter();
  out.reserve(9 + payload.length);
  writeFrameHeader(out, payload.length, type, flags, streamId);
  out.writeBytes(payload, 0, payload.length);
  return Buffer.from(out.bytes.subarray(0, out.length));
}

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const settings = (text = '', flags = 0, streamId = 0) => frame(frameTypes.settings, flags, streamId, hex(text));
/** `:status: 200`. */
const answer = (streamId: number, flags = 4) => frame(frameTypes.headers, flags, streamId, hex('88'));
const headers = (text: string, streamId = 1, flags = 5) => frame(frameTypes.headers, flags, streamId, hex(text));
const data = (bytes: number, streamId = 1, flags = 0) => frame(frameTypes.data, flags, streamId, Buffer.alloc(bytes));
const windowUpdate = (text: string, streamId = 0) => frame(frameTypes.windowUpdate, 0, streamId, hex(text));

/** Fields that evict each other from the table of 4,096 bytes. */
const filledTable = Array.from(
  { length: 4 },
  (_, i) => `4001${(0x61 + i).toString(16)}7f910f${'62'.repeat(2_064)}`,
).join('');

function* endlessly(bytes: Buffer | (() => Buffer)): Iterable<Buffer> {
  for (let i = 0; i < framesMax; i += 1) yield typeof bytes === 'function' ? bytes() : bytes;
}

function* after(first: Buffer, then: Iterable<Buffer>): Iterable<Buffer> {
  yield first;
  yield* then;
}

/** Frames that must each end a connection. */
const singles: Readonly<Record<string, Buffer | ((random: Random) => Buffer)>> = {
  'a frame over the limit': (random) => frame(random.below(12), 0, 1, Buffer.alloc(16_385)),
  'SETTINGS of an impossible length': settings('0003000000'),
  'SETTINGS on a stream': settings('', 0, 1),
  'SETTINGS accepted twice': Buffer.concat([settings('', 1), settings('', 1)]),
  'SETTINGS accepted with a payload': settings('000300000001', 1),
  'a first window over 2^31 - 1': settings('000480000000'),
  'a peer that takes pushes': settings('000200000001'),
  'frames too small': settings('0005 00003fff'),
  'frames too large': settings('0005 01000000'),
  'windows of streams that overflow by SETTINGS': Buffer.concat([
    windowUpdate('7fff0000', 1),
    settings('00047fffffff'),
  ]),
  'a window opened by nothing': (random) => windowUpdate('00000000', random.pick([0, 1])),
  'the window of the connection over 2^31 - 1': Buffer.concat([windowUpdate('7fffffff'), windowUpdate('7fffffff')]),
  'the window of a stream over 2^31 - 1': Buffer.concat([windowUpdate('7fffffff', 3), windowUpdate('7fffffff', 3)]),
  'a window of another length': frame(frameTypes.windowUpdate, 0, 0, Buffer.alloc(5)),
  'a window of a stream that was not opened': windowUpdate('00000001', 701),
  'headers on no stream': headers('88', 0),
  'headers on a stream of the peer': headers('88', 2),
  'headers on a stream that was not opened': headers('88', 999),
  'headers that are all padding': headers('05 88', 1, 13),
  'headers continued after their end': Buffer.concat([answer(1), frame(frameTypes.continuation, 4, 1, hex('88'))]),
  'a body before its headers': data(10),
  'a body on no stream': data(10, 0),
  'a body on a stream that was not opened': data(10, 555),
  'a body that is all padding': Buffer.concat([answer(1), frame(frameTypes.data, 8, 1, hex('ff00'))]),
  'a continuation of nothing': frame(frameTypes.continuation, 4, 1, hex('88')),
  'headers interrupted': Buffer.concat([headers('88', 1, 0), data(1)]),
  'headers continued on another stream': Buffer.concat([headers('88', 1, 0), frame(frameTypes.continuation, 4, 3)]),
  'a push': frame(frameTypes.pushPromise, 4, 1, hex('0000000282')),
  'a PING of another length': frame(frameTypes.ping, 0, 0, Buffer.alloc(7)),
  'a PING on a stream': frame(frameTypes.ping, 0, 1, Buffer.alloc(8)),
  'a reset of another length': frame(frameTypes.rstStream, 0, 1, Buffer.alloc(3)),
  'a reset of no stream': frame(frameTypes.rstStream, 0, 0, Buffer.alloc(4)),
  'a reset of a stream of the peer': frame(frameTypes.rstStream, 0, 2, Buffer.alloc(4)),
  'a reset of a stream that was not opened': frame(frameTypes.rstStream, 0, 77, Buffer.alloc(4)),
  'a goodbye that is cut': frame(frameTypes.goaway, 0, 0, Buffer.alloc(7)),
  'a goodbye on a stream': frame(frameTypes.goaway, 0, 1, Buffer.alloc(8)),
  'a goodbye that takes back another': Buffer.concat([
    frame(frameTypes.goaway, 0, 0, hex('00000003 00000000')),
    frame(frameTypes.goaway, 0, 0, hex('00000005 00000000')),
  ]),
  'a priority of another length': frame(frameTypes.priority, 0, 1, Buffer.alloc(4)),
  'an index that no field has': headers('ff8001'),
  'a number without end': headers('ffffffffffffffffffffff'),
  'a string that breaks off': headers('400a6162'),
  'no Huffman code': headers('0081ff8161'),
  'a table larger than was allowed': headers('3fe2ff03'),
  'a table resized behind a field': headers('8820'),
  'a bomb of headers': headers(`4001617f9116${'62'.repeat(2_960)}${'be'.repeat(5_000)}`),
  'a bomb of headers in parts': Buffer.concat([
    headers(`4001617f9116${'62'.repeat(2_960)}${'be'.repeat(15)}`, 1, 1),
    frame(frameTypes.continuation, 0, 1, Buffer.alloc(16_000, 0xbe)),
    frame(frameTypes.continuation, 4, 1, Buffer.alloc(16_000, 0xbe)),
  ]),
  'a bomb of fields without name or value': headers('000000'.repeat(5_000)),
};

/** Floods that continue until they are stopped. */
const floods: Readonly<Record<string, (random: Random) => Iterable<Buffer>>> = {
  CONTINUATION: () =>
    after(headers('88', 1, 1), endlessly(frame(frameTypes.continuation, 0, 1, Buffer.alloc(4_000, 0x82)))),
  'empty CONTINUATION': () => after(headers('88', 1, 1), endlessly(frame(frameTypes.continuation, 0, 1))),
  SETTINGS: () => endlessly(settings('000300000064')),
  'large SETTINGS': () => endlessly(settings('000400001000'.repeat(2_700))),
  PING: () => endlessly(frame(frameTypes.ping, 0, 0, Buffer.alloc(8))),
  'answers to no PING': () => endlessly(frame(frameTypes.ping, 1, 0, Buffer.alloc(8))),
  RST_STREAM: () => endlessly(frame(frameTypes.rstStream, 0, 1, Buffer.alloc(4))),
  'refusals of every stream': (random) =>
    endlessly(() => frame(frameTypes.rstStream, 0, 1 + 2 * random.below(3), hex('00000007'))),
  'empty DATA': () => after(answer(1), endlessly(data(0))),
  'padding alone': () => after(answer(1), endlessly(frame(frameTypes.data, 8, 1, Buffer.alloc(256, 255)))),
  'a body without end': () => after(answer(1), endlessly(data(16_000))),
  PRIORITY: () => endlessly(frame(frameTypes.priority, 0, 9, Buffer.alloc(5))),
  'frames nobody knows': (random) => endlessly(() => frame(20 + random.below(200), 255, 3, random.bytes(8))),
  'large frames nobody knows': () => endlessly(frame(99, 0, 0, Buffer.alloc(16_384))),
  'informational answers': () => endlessly(headers('4803313033', 1, 4)),
  'large informational answers': () => endlessly(headers(`4803313033${filledTable}`, 1, 4)),
  'answers to what was answered': () => endlessly(answer(1, 5)),
  'large answers to what was answered': () => endlessly(headers(`88${filledTable}`, 1, 5)),
  goodbyes: () => endlessly(frame(frameTypes.goaway, 0, 0, hex('7fffffff 00000000'))),
  'wordy goodbyes': () =>
    endlessly(frame(frameTypes.goaway, 0, 0, Buffer.concat([hex('7fffffff 00000000'), Buffer.alloc(16_000)]))),
};

/** Windows that are opened repeatedly, although no data was sent that they could acknowledge. */
const openings: Readonly<Record<string, (random: Random) => Iterable<Buffer>>> = {
  'WINDOW_UPDATE of a stream': () => endlessly(windowUpdate('00000001', 3)),
  'WINDOW_UPDATE of all streams': () => endlessly(windowUpdate('00000001')),
};

/**
 * No rule requires that these frames end the connection at once. They must only leave nothing
 * behind.
 */
const chaos: Readonly<Record<string, (random: Random) => Iterable<Buffer>>> = {
  'any bytes': (random) => Array.from({ length: 1 + random.below(5) }, () => random.bytes(random.below(200))),
  'any frames': (random) =>
    Array.from({ length: 1 + random.below(30) }, () => {
      const payload = random.bytes(random.pick([0, 1, 4, 5, 6, 8, 12, 40]));
      return frame(random.below(11), random.below(256), random.below(8), payload);
    }),
  'any headers': (random) =>
    Array.from({ length: 6 }, (_, i) =>
      frame(frameTypes.headers, random.pick([4, 5]), 1 + 2 * (i % 3), random.bytes(1 + random.below(40))),
    ),
  'malformed answers': (random) => {
    const blocks = [
      '',
      '88 88',
      '82',
      '4003 3230 78',
      '88 00 01 41 01 61',
      '88 00 01 61 01 00',
      '00016101 61 88',
      '48 03 313031',
    ];
    return [headers(random.pick(blocks), 1), headers(random.pick(blocks), 3, 4), headers(random.pick(blocks), 5)];
  },
  'good frames with a bit turned over': (random) => {
    const good = Buffer.concat([
      answer(1),
      data(100),
      data(10, 1, 1),
      answer(3, 5),
      settings('000300000002'),
      answer(5, 5),
    ]);
    const at = random.below(good.length);
    good[at] = (good[at] ?? 0) ^ (1 << random.below(8));
    return [good];
  },
  'good frames in another order': (random) => {
    const good = [
      answer(1),
      data(100),
      data(10, 1, 1),
      answer(3, 5),
      answer(5),
      data(0, 5, 1),
      settings(),
      settings('', 1),
    ];
    return good.sort(() => random.below(3) - 1);
  },
  'frames of the right form': (random) =>
    Array.from({ length: 1 + random.below(40) }, () => {
      const streamId = random.pick([0, 1, 1, 3, 3, 5, 7, 2]);
      return random.pick([
        answer(streamId, random.pick([0, 1, 4, 4, 5])),
        data(random.below(2_000), streamId, random.pick([0, 0, 1])),
        frame(frameTypes.rstStream, 0, streamId, hex(random.pick(['00000000', '00000007', '00000008']))),
        windowUpdate(random.pick(['00000001', '00004000', '7fffffff']), streamId),
        settings(random.pick(['', '000400000000', '00040000ffff', '000300000000', '000100000000', '000500ffffff'])),
        frame(frameTypes.ping, random.below(2), 0, random.bytes(8)),
        frame(
          frameTypes.goaway,
          0,
          0,
          hex(random.pick(['00000000 00000002', '00000003 00000000', '7fffffff 00000000'])),
        ),
        frame(frameTypes.continuation, random.pick([0, 4]), streamId, random.bytes(random.below(20))),
        frame(frameTypes.priority, 0, streamId, random.bytes(5)),
      ]);
    }),
  'good frames that break off': (random) => {
    const good = Buffer.concat([answer(1), data(100), data(10, 1, 1), answer(3, 5), answer(5, 5)]);
    return [good.subarray(0, random.below(good.length))];
  },
};

/** Each play of chaos differs, so it is played more often. */
const chaosPerRound = 5;

const scripts: readonly Script[] = [
  ...Object.entries(singles).map(([name, bytes]) => ({
    name,
    isViolation: true,
    frames: (random: Random) => [typeof bytes === 'function' ? bytes(random) : bytes],
  })),
  ...Object.entries(floods).map(([name, frames]) => ({ name: `a flood of ${name}`, isViolation: true, frames })),
  ...Object.entries(openings).map(([name, frames]) => ({
    name: `a flood of ${name}`,
    isViolation: true,
    hasNoBodies: true,
    frames,
  })),
  ...Array.from({ length: chaosPerRound }, () => Object.entries(chaos))
    .flat()
    .map(([name, frames]) => ({ name, isViolation: false, frames })),
  ...[answer(1), frame(frameTypes.ping, 0, 0, Buffer.alloc(8)), settings('', 1), hex('485454502f312e31')].map(
    (first, i) => ({
      name: `a start without SETTINGS, ${i}`,
      // The last one is an incomplete frame.
      isViolation: i < 3,
      isAtStart: true,
      frames: () => [first],
    }),
  ),
];

/** A connection in memory. Of the engine's output it keeps what shows how the connection ended. */
class Wire extends Duplex {
  readonly #reader: FrameReader;
  #preface = 24;
  goawayCode: number | undefined;

  constructor() {
    super({ allowHalfOpen: false });
    this.#reader = new FrameReader((type, _flags, _id, bytes, start) => {
      if (type === frameTypes.goaway) this.goawayCode = readUint32(bytes, start + 4);
    });
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.#reader.push(chunk.subarray(this.#preface));
    this.#preface = 0;
    done();
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

interface Playing {
  readonly engine: Http2Engine;
  readonly script: Script;
  readonly random: Random;
  readonly observe: () => void;
}

interface Played {
  readonly frames: number;
  /** The violation. */
  readonly complaint?: string;
}

async function play({ engine, script, random, observe }: Playing): Promise<Played> {
  const wire = new Wire();
  wire.on('error', () => {});
  let closes = 0;
  let isReady = false;
  const session: Http2Session = engine(wire as unknown as TLSSocket, {
    authority: 'a',
    streamsMax: 100,
    events: { onReady: () => (isReady = true), onCapacity() {}, onDrain() {}, onClose: () => (closes += 1) },
  });
  await turn();
  const results: Http2Result[] = [];
  if (script.isAtStart !== true) {
    wire.push(settings());
    await turn();
    if (!isReady) return { frames: 0, complaint: 'it is not ready after SETTINGS' };
    const body = Buffer.alloc(script.hasNoBodies === true ? 0 : random.below(100_000));
    for (let i = 0; i < requestsPerConnection; i += 1) {
      const request = { path: '/', headers: {}, body, timeoutMs: 60_000 };
      session.request(request, { onResult: (result) => results.push(result) });
    }
    await turn();
  }
  let frames = 0;
  for (const bytes of script.frames(random)) {
    if (wire.writableEnded || wire.destroyed) break;
    frames += 1;
    // Cut at any place, as a network does.
    const at = random.below(bytes.length + 1);
    wire.push(bytes.subarray(0, at));
    if (at < bytes.length) wire.push(bytes.subarray(at));
    if (frames % 100 > 0) continue;
    await turn();
    observe();
  }
  await turn();
  const code = wire.goawayCode;
  wire.destroy();
  for (let i = 0; i < 5; i += 1) await turn();
  observe();
  const asked = script.isAtStart === true ? 0 : requestsPerConnection;
  if (script.isViolation && !(code !== undefined && code > 0)) return { frames, complaint: `it ended with ${code}` };
  if (closes !== 1) return { frames, complaint: `it was closed ${closes} times` };
  if (results.length !== asked || session.inFlight !== 0) {
    return { frames, complaint: `${results.length} of ${asked} requests have a result` };
  }
  return { frames };
}

/**
 * Plays scripts in turn until there were enough. Rejects only when the engine throws where it must
 * not.
 */
export async function fuzzHttp2(engine: Http2Engine, options: FuzzOptions): Promise<FuzzReport> {
  const {
    connections: connectionsMax,
    frames: framesWanted = Number.POSITIVE_INFINITY,
    seed,
    observe = () => {},
  } = options;
  const complaints: string[] = [];
  const played = new Map<string, number>();
  let frames = 0;
  let connections = 0;
  for (; connections < (connectionsMax ?? Number.POSITIVE_INFINITY) && frames < framesWanted; connections += 1) {
    const script = scripts[connections % scripts.length];
    if (script === undefined) break;
    const seedOfThis = seed + connections;
    const result = await play({ engine, script, random: createRandom(seedOfThis), observe });
    frames += result.frames;
    played.set(script.name, (played.get(script.name) ?? 0) + result.frames);
    if (result.complaint !== undefined) complaints.push(`seed ${seedOfThis}, ${script.name}: ${result.complaint}`);
  }
  return { frames, connections, scripts: played, complaints };
}
