// Two endpoints in a process of their own, so that the data they write waits in their memory and
// not in the measured process. One sends a body that never ends; the other sends a body that
// unpacks to a thousand times its size. Prints their ports as one line of JSON.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:tls';
import { gzipSync } from 'node:zlib';

const [, , certificateFile, keyFile] = process.argv;
const identity = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
const bomb = gzipSync(Buffer.alloc(50_000_000));

function pour(socket) {
  while (!socket.destroyed && socket.write(chunk));
  if (!socket.destroyed) socket.once('drain', () => pour(socket));
}

/** Answers the first request of each connection. */
async function listen(answer) {
  const server = createServer(identity, (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => answer(socket));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server.address().port;
}

const endless = await listen((socket) => {
  socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
  pour(socket);
});
const packed = await listen((socket) => {
  socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
  socket.write(bomb);
});
process.stdout.write(`${JSON.stringify({ endless, packed })}\n`);
