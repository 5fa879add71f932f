// HTTP/1.1 to strangers: one deadline over everything, a capped body, no redirect, no cookie, no proxy, no hidden retry.
// Kept-alive sockets per origin. A failure is data, never an exception.
import { Agent, request as startRequest } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { type BodyLimits, CappedBody } from './capped-body.ts';
import { type OutboundOrigin, type OutboundSockets, type TransportError, transportErrorOf } from './outbound-socket.ts';
