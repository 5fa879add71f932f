// HTTP for the control port: which requests it accepts, how it reads JSON and how it answers. It
// knows nothing of pushes.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { InputError } from './json-input.ts';
import { parseUrl } from './parse-url.ts';

/** A method, a path pattern and its handler. */
export type Route = [method: string, pattern: RegExp, handler: (call: Call) => void | Promise<void>];

export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** The part of the path that the pattern captured. */
  readonly part: string;
}

/** The most items in one JSON document. A larger number is sent as NDJSON. */
export const documentItemsMax = 10_000;

const bodyBytesMax = 1024 * 1024;

/**
 * Whether this machine's owner sent the request. A page of another site, or a foreign name that
 * resolves to this machine, must not control the sandbox.
 */
export function isFromHere(request: IncomingMessage, names: readonly string[]): boolean {
  const asked = request.headers.host ?? '';
  const name = parseUrl(`http://${asked}`)?.hostname ?? '';
  const isOurName = isIP(name.replace(/^\[|\]$/g, '')) !== 0 || name === 'localhost' || names.includes(name);
  const { origin } = request.headers;
  return isOurName && (origin === undefined || origin === `http://${asked}`);
}

export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new InputError('', `the body is larger than ${bodyBytesMax} bytes`);
    chunks.push(chunk);
  }
  if (bytes === 0) return {};
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new InputError('', 'the body is not JSON');
  }
}

export function wholeNumber(url: URL, name: string, otherwise: number): number {
  const value = url.searchParams.get(name);
  if (value === null) return otherwise;
  if (!/^\d{1,15}$/.test(value)) throw new InputError(name, 'must be a whole number');
  return Number(value);
}

export function wantsLines(request: IncomingMessage): boolean {
  return (request.headers.accept ?? '').includes('application/x-ndjson');
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = `${JSON.stringify(value)}\n`;
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
}

export function sendLines(response: ServerResponse, items: readonly unknown[]): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
  response.end(items.map((item) => `${JSON.stringify(item)}\n`).join(''));
}

export function sendNothing(response: ServerResponse): void {
  response.writeHead(204).end();
}

export function sendError(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Record<string, string> = {},
): void {
  const body = `${JSON.stringify({ error: message })}\n`;
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
  response.end(body);
}
