// Reads a request's body within limits of size and time, or throws the 400 that names the exceeded
// limit. Keeps nothing of a refused body; the caller closes the connection.
import type { IncomingMessage } from 'node:http';
import { ApiError } from './api-error.ts';
import { invalidJson } from './json.ts';

/** The size of a body, unless its route says otherwise (contract 1). */
export const bodyBytesDefault = 256 * 1024;

/** The limits of a caller's bodies beside those of the route. */
export interface BodyAllowance {
  readonly bytesMax: number;
  /** Counts bytes and returns 0 when there is room; otherwise returns the milliseconds until there is. */
  take(bytes: number): number;
}

export interface BodyLimits {
  readonly bytesMax: number;
  /** Null: the caller has no limits of its own. */
  readonly allowance: BodyAllowance | null;
  /** Milliseconds from now until the last byte. */
  readonly timeoutMs: number;
  /**
   * Returns whether there is memory for `count` more bytes; otherwise the request is refused with
   * 503.
   */
  mayKeep(count: number): boolean;
}

const retryAfterMs = 1000;

/** Resolves with the whole body, empty when there is none. */
export function readBytes(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const { allowance, timeoutMs, mayKeep } = limits;
  const bytesMax = Math.min(limits.bytesMax, allowance?.bytesMax ?? limits.bytesMax);
  return new Promise((resolve, reject) => {
    const length = request.headers['content-length'];
    // Without either header there is no body (RFC 9112 section 6.3). An announced length that is
    // too large is refused at once.
    if (length === undefined && request.headers['transfer-encoding'] === undefined) return resolve(Buffer.alloc(0));
    if (Number(length ?? 0) > bytesMax) return reject(tooLarge(bytesMax));
    const waitMs = allowance?.take(Number(length ?? 0)) ?? 0;
    if (waitMs > 0) return reject(tooFast(waitMs));
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (act: () => void): void => {
      clearTimeout(deadline);
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      act();
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      // A chunked body announces no length, so its bytes count as they arrive.
      const waitMs = length === undefined ? (allowance?.take(chunk.length) ?? 0) : 0;
      if (size > bytesMax) settle(() => reject(tooLarge(bytesMax)));
      else if (waitMs > 0) settle(() => reject(tooFast(waitMs)));
      else if (!mayKeep(chunk.length)) settle(() => reject(new ApiError('unavailable', { retryAfterMs })));
      else chunks.push(chunk);
    };
    const onEnd = (): void => settle(() => resolve(Buffer.concat(chunks, size)));
    const onClose = (): void => settle(() => reject(invalidJson('The body ended before it was whole.')));
    const deadline = setTimeout(() => {
      settle(() => reject(invalidJson(`The body took longer than ${timeoutMs / 1000} seconds to arrive.`)));
    }, timeoutMs);
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

export function bodyTooLarge(message: string): ApiError {
  return new ApiError('body_too_large', { message, issues: [{ path: [], code: 'body_too_large', message }] });
}

function tooFast(retryAfterMs: number): ApiError {
  const message = 'This client key sends too many bytes of bodies in a second.';
  return new ApiError('rate_limited', { message, retryAfterMs: Math.ceil(retryAfterMs) });
}

function tooLarge(bytesMax: number): ApiError {
  return bodyTooLarge(`The body is larger than ${bytesMax / 1024} KiB.`);
}
