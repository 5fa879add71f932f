// The result of a request over any protocol: an answer, or the reason why no answer came. A failure is
// a value.
import type { BodyLimits } from './capped-body.ts';

/** The reasons why no answer came. */
export const transportErrors = [
  'timeout',
  'dns_error',
  'connect_error',
  'tls_error',
  'reset',
  'blocked_address',
] as const;
export type TransportError = (typeof transportErrors)[number];

export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface HttpAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: AnswerHeaders;
  readonly body: string | null;
  /** True when the body was longer than the kept part, or ended too early. */
  readonly truncated: boolean;
  /**
   * Milliseconds to the end of the answer, from sending or from opening a connection for it. The
   * wait for a free connection does not count.
   */
  readonly latencyMs: number;
}

/** The reason why no connection could be made. */
export interface Unreachable {
  readonly transportError: TransportError;
  /**
   * True when the lookup of the host's name did not begin, because other names held all places. It
   * is no fault of the peer.
   */
  readonly isUntried?: true;
}

export interface HttpFailure extends Unreachable {
  /**
   * False when it is certain that no byte of the request was sent, so that the peer cannot have
   * acted upon it.
   */
  readonly written: boolean;
  readonly latencyMs: number;
}

/** The default limits of an answer's body. */
export const answerBodyLimits: BodyLimits = { readMax: 8_192, keepMax: 4_096 };

const dnsCodes = new Set(['ENOTFOUND', 'ENODATA', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_MEMORY', 'EAI_NODATA', 'EAI_NONAME']);
const connectCodes = new Set([
  ...['ECONNREFUSED', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'EADDRNOTAVAIL', 'EADDRINUSE', 'EACCES'],
  ...['EPERM', 'EMFILE', 'ENFILE', 'EAFNOSUPPORT', 'EINVAL', 'ETIMEDOUT'],
]);
const tlsCodes =
  /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|INVALID_CA|PATH_LENGTH|HOSTNAME_|EPROTO|CRL_|ERROR_IN_)/;

/** Tells why a connection failed. An error that has `isUntried` began no lookup. */
export function unreachableOf(error: unknown): Unreachable {
  const transportError = transportErrorOf(error);
  return (error as Partial<Unreachable> | null)?.isUntried ? { transportError, isUntried: true } : { transportError };
}

/**
 * Classifies the error of a failed connection. Every error on an open connection is `reset`,
 * malformed answers included. An error that has a `transportError` says itself what it is.
 */
export function transportErrorOf(error: unknown): TransportError {
  const {
    code = '',
    syscall = '',
    transportError,
  } = (error ?? {}) as Readonly<Partial<Record<'code' | 'syscall', string>> & Partial<Unreachable>>;
  if (transportError !== undefined) return transportError;
  if (dnsCodes.has(code) || syscall === 'getaddrinfo') return 'dns_error';
  if (tlsCodes.test(code)) return 'tls_error';
  if (syscall === 'connect' || connectCodes.has(code)) return 'connect_error';
  return 'reset';
}
