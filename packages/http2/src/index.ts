export { type BodyLimits, CappedBody } from './capped-body.ts';
export { ConnectGate } from './connect-gate.ts';
export { nodeEngine } from './node-session.ts';
export { ownEngine } from './own-session.ts';
export { Http2Pool, type Http2PoolOptions, type PoolAsker } from './pool.ts';
export {
  type AnswerHeaders,
  answerBodyLimits,
  type HttpAnswer,
  type HttpFailure,
  type TransportError,
  transportErrorOf,
  transportErrors,
  unreachableOf,
} from './result.ts';
export type { Http2Engine, Http2Request } from './session.ts';
