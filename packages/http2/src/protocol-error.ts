// The error codes of HTTP/2, and the exception that the parts of a session throw when the peer
// breaks the protocol. It ends the connection and never leaves the session.

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
  /** The code of RFC 9113 7 that the GOAWAY tells the peer. */
  readonly errorCode: number;

  constructor(errorCode: number, message: string) {
    super(message);
    this.errorCode = errorCode;
  }
}
