// The receiving end of `http2`, as a process of its own: answers every request at frame level, and as little as an APNs
// answer can be. It reads no header and holds nobody back, so that what is measured is the client.
import { readFileSync } from 'node:fs';
import { createServer, type TLSSocket } from 'node:tls';
import { ByteWriter } from '../../../server/src/platform/http2/byte-writer.ts';
import {
  FrameReader,
  frameFlags,
  frameHeaderBytes,
  frameTypes,
  writeFrameHeader,
} from '../../../server/src/platform/http2/frames.ts';
import { certificateFile, keyFile } from './plan.ts';

const prefaceBytes = 24;

/** `:status: 200`, and an `apns-id` that is not kept in the table, since each has its own. */
const block = Buffer.concat([
  Buffer.from([0x88, 0x00, 7]),
  Buffer.from('apns-id'),
  Buffer.from([36]),
  Buffer.from('e63c4f3a-0f0c-4c7c-9d6b-3f7a5f1f2b11'),
]);

/** Given back as soon as it is half used. */
const windowBytes = 1 << 30;

function serve(socket: TLSSocket): void {
  let skipped = 0;
  let received = 0;
  const out = new ByteWriter();
  const openWindow = (bytes: number) => {
    out.reserve(frameHeaderBytes + 4);
    writeFrameHeader(out, 4, frameTypes.windowUpdate, 0, 0);
    out.writeUint32(bytes);
  };
  const reader = new FrameReader((type, flags, streamId, bytes, start, end) => {
    if (type === frameTypes.data) received += end - start;
    const isWhole = (flags & frameFlags.endStream) !== 0;
    if (isWhole && (type === frameTypes.data || type === frameTypes.headers)) {
      out.reserve(frameHeaderBytes + block.length);
      writeFrameHeader(out, block.length, frameTypes.headers, frameFlags.endStream | frameFlags.endHeaders, streamId);
      out.writeBytes(block, 0, block.length);
    } else if (type === frameTypes.settings && !isWhole) {
      out.reserve(frameHeaderBytes);
      writeFrameHeader(out, 0, frameTypes.settings, frameFlags.ack, 0);
    } else if (type === frameTypes.ping && !isWhole) {
      out.reserve(frameHeaderBytes + 8);
      writeFrameHeader(out, 8, frameTypes.ping, frameFlags.ack, 0);
      out.writeBytes(bytes, start, end);
    }
  });
  writeFrameHeader(out, 0, frameTypes.settings, 0, 0);
  openWindow(windowBytes);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    const rest = skipped < prefaceBytes ? chunk.subarray(Math.min(chunk.length, prefaceBytes - skipped)) : chunk;
    skipped += chunk.length - rest.length;
    reader.push(rest);
    if (received > windowBytes / 2) {
      openWindow(received);
      received = 0;
    }
    if (out.length === 0) return;
    socket.write(Buffer.from(out.bytes.subarray(0, out.length)));
    out.length = 0;
  });
  socket.write(Buffer.from(out.bytes.subarray(0, out.length)));
  out.length = 0;
}

const server = createServer(
  { cert: readFileSync(certificateFile), key: readFileSync(keyFile), ALPNProtocols: ['h2'] },
  serve,
);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : 0 });
});
process.on('disconnect', () => process.exit(0));
