// Answers on the bare socket for input that never became a request: invalid bytes, endless or slow
// headers, and CONNECT. The error bodies are the usual ones, and the connection always closes.
import type { Duplex } from 'node:stream';
import type { Log } from '../host/log.ts';
import { encodeId, mintUuid } from '../values/ids.ts';
import { type ApiError, notFound } from './api-error.ts';
import { invalidJson } from './json.ts';
import { bodyTooLarge } from './request-body.ts';

/** Answers when node:http could not read a request. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Duplex, log: Log): void {
  log.debug({ code: error.code }, 'broken request');
  answer(socket, describe(error.code));
}

/** CONNECT asks for a tunnel. Like any other wrong method it gets the 404. */
export function answerConnect(socket: Duplex): void {
  answer(socket, notFound());
}

function describe(code: string | undefined): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW') return bodyTooLarge('The headers are larger than 16 KiB.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return invalidJson('The request took too long to arrive.');
  return invalidJson('The request is not valid HTTP.');
}

function answer(socket: Duplex, error: ApiError): void {
  // A client that hung up or was answered already gets no further answer.
  if (!socket.writable) return void socket.destroy();
  const id = encodeId('req', mintUuid());
  const body = `${JSON.stringify(error.present(id))}\n`;
  const status = error.status === 404 ? '404 Not Found' : '400 Bad Request';
  socket.end(
    `HTTP/1.1 ${status}\r\nx-request-id: ${id}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `x-content-type-options: nosniff\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
