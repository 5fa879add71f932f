// What ends a connection: the error codes of HTTP/2, and the exception by which the parts below a session say that the peer
// broke the protocol. It never leaves the session.

/** RFC 9113 7. */
export const errorCodes = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;

export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  /** Of RFC 9113 7: what the peer is told in the GOAWAY. */
  readonly errorCode: number;

  constructor(errorCode: number, message: string) {
    super(message);
    this.errorCode = errorCode;
  }
}
