// Google's front accepts the scheme "https:", which Google's own library for Node writes. RFC 9113
// section 8.3.1 allows no colon there, and Node's server ends such a stream. So a connection to FCM
// is read frame by frame before Node reads it, and the colon becomes a letter. No other octet
// changes, and none is added or removed.
import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

/** The preface "PRI * HTTP/2.0…", which every client sends first. */
const prefaceBytes = 24;
const frameHeaderBytes = 9;
/** The types of the frames that carry headers. */
const headers = 1;
const continuation = 9;
/** SETTINGS_MAX_FRAME_SIZE at its default. Node refuses larger frames. */
const frameBytesMax = 16_384;

/**
 * The value "https:" after its length in HPACK: Huffman-coded (RFC 7541 appendix B), and plain. The
 * colon and the "B" that replaces it have seven-bit codes that differ in one bit.
 */
const spellings: readonly { readonly loose: Buffer; readonly strict: Buffer }[] = [
  { loose: Buffer.from('859d29ad173f', 'hex'), strict: Buffer.from('859d29ad177f', 'hex') },
  { loose: Buffer.from('\x06https:'), strict: Buffer.from('\x06httpsB') },
];

/** Reads a client's octets and passes them on in complete header frames, with the strict scheme. */
export class SchemeReader {
  #passing = prefaceBytes;
  #held: Buffer = Buffer.alloc(0);

  /**
   * The octets that may be passed on now. The beginning of a frame is held until its type is known.
   */
  read(chunk: Buffer): Buffer[] {
    const ready: Buffer[] = [];
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    while (rest.length > 0) {
      if (this.#passing > 0) {
        const passed = rest.subarray(0, this.#passing);
        this.#passing -= passed.length;
        ready.push(passed);
        rest = rest.subarray(passed.length);
        continue;
      }
      if (rest.length < frameHeaderBytes) break;
      const frameBytes = frameHeaderBytes + rest.readUIntBE(0, 3);
      const isHeaders = rest[3] === headers || rest[3] === continuation;
      if (!isHeaders || frameBytes > frameHeaderBytes + frameBytesMax) {
        this.#passing = frameBytes;
        continue;
      }
      if (rest.length < frameBytes) break;
      ready.push(spellStrictly(rest.subarray(0, frameBytes)));
      rest = rest.subarray(frameBytes);
    }
    this.#held = rest;
    return ready;
  }
}

function spellStrictly(frame: Buffer): Buffer {
  for (const { loose, strict } of spellings) {
    const at = frame.indexOf(loose, frameHeaderBytes);
    if (at < 0) continue;
    const mended = Buffer.from(frame);
    strict.copy(mended, at);
    return mended;
  }
  return frame;
}

/**
 * The connection as the server sees it. It ends when the socket ends, and the socket ends with it.
 */
export function withStrictScheme(socket: TLSSocket): Duplex {
  const reader = new SchemeReader();
  const mended = new Duplex({
    read: () => socket.resume(),
    write: (chunk: Buffer, _encoding, done) => void socket.write(chunk, done),
    final: (done) => void socket.end(done),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (chunk: Buffer) => {
    for (const ready of reader.read(chunk)) if (!mended.push(ready)) socket.pause();
  });
  socket.once('end', () => mended.push(null));
  socket.once('close', () => mended.destroy());
  mended.on('error', () => {});
  return mended;
}
