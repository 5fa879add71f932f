// HTTP/1.1 to strangers: one deadline over everything, a capped body, no redirect, no cookie, no proxy, no hidden retry.
// Kept-alive sockets per origin. A failure is data, never an exception.
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request as startRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { type BodyLimits, CappedBody } from './capped-body.ts';
import {
  type OutboundOrigin,
  type OutboundSockets,
  type TransportError,
  transportErrorOf,
  type Unreachable,
  unreachableOf,
} from './outbound-socket.ts';

export interface OutboundRequest extends OutboundOrigin {
  readonly method: 'GET' | 'POST';
  /** Path and query. */
  readonly path: string;
  /** Lower-case names. Of HTTP/1.1, `host` and `connection` are added. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sent with its length, never chunked; empty with GET. */
  readonly body: Buffer;
  /** From the moment the request has a connection, or begins to make one, to the last byte of the answer. */
  readonly timeoutMs: number;
  /** Default: 8 KiB read, 4,096 bytes kept. */
  readonly bodyLimits?: BodyLimits;
  /** Asked when a connection is there for it. False: nothing is written, and the result is a `connect_error`. */
  readonly isWanted?: (() => boolean) | undefined;
}

export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface OutboundAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: AnswerHeaders;
  readonly body: string | null;
  /** The body was longer than what is kept, or broke off. */
  readonly truncated: boolean;
  /** From being sent, or connecting for it, to the end of the answer; waiting for a free connection is not in it. */
  readonly latencyMs: number;
}

export interface OutboundFailure extends Unreachable {
  /** False where it is certain that no byte of the request left: it cannot have been acted upon. */
  readonly written: boolean;
  readonly latencyMs: number;
}

export type OutboundResult = OutboundAnswer | OutboundFailure;

export interface Http1Request extends OutboundRequest {
  /** Connections at once to this origin. Further requests wait, and their deadline with them. Default 64. */
  readonly socketsMax?: number;
  /** Requests with another name here never share a connection. */
  readonly pool?: string;
  /** Headers that are true of one moment: asked when the connection is verified and the request is about to be written. */
  readonly lateHeaders?: () => Readonly<Record<string, string>>;
}

export interface OutboundHttp {
  /** Never rejects. A redirect is an answer like any other. */
  request(request: Http1Request): Promise<OutboundResult>;
  /** Ends idle connections now and refuses nothing: what is under way ends by its own deadline. */
  close(): void;
}

/** The default of what is read and kept of an answer's body. */
export const answerBodyLimits: BodyLimits = { readMax: 8_192, keepMax: 4_096 };

/** Shorter than what servers usually allow, so that a socket they have just closed is rarely taken for a request. */
const idleMs = 4_000;

/** Idle connections to all hosts together: each has its buffers. The one that has been idle longest goes first. */
const idleMostUsual = 768;

type PooledOptions = RequestOptions & { readonly pool?: string };

class GuardedAgent extends Agent {
  readonly #sockets: OutboundSockets;
  readonly #idleMax: number;
  /** Longest first. */
  readonly #idle = new Set<Duplex>();

  constructor(sockets: OutboundSockets, socketsMax: number, idleMax: number) {
    super({ keepAlive: true, maxSockets: socketsMax, maxFreeSockets: socketsMax, scheduling: 'lifo', timeout: idleMs });
    this.#sockets = sockets;
    this.#idleMax = idleMax;
  }

  override createConnection(options: RequestOptions): TLSSocket {
    const socket = this.#sockets.open({ host: options.host ?? '', port: Number(options.port) }, ['http/1.1']);
    socket.once('close', () => this.#idle.delete(socket));
    return socket;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    // The types leave out the answer.
    const isKept = (super.keepSocketAlive(socket) as unknown) !== false;
    if (!isKept) return false;
    const [longest] = this.#idle;
    if (longest && this.#idle.size >= this.#idleMax) {
      this.#idle.delete(longest);
      longest.destroy();
    }
    this.#idle.add(socket);
    return true;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.#idle.delete(socket);
    super.reuseSocket(socket, request);
  }

  override getName(options: PooledOptions = {}): string {
    return `${options.pool ?? ''} ${options.host}:${options.port}`;
  }
}

export function createOutboundHttp(sockets: OutboundSockets, idleMax = idleMostUsual): OutboundHttp {
  const agents = new Map<number, GuardedAgent>();
  const agentFor = (socketsMax: number) => {
    const agent = agents.get(socketsMax) ?? new GuardedAgent(sockets, socketsMax, idleMax);
    agents.set(socketsMax, agent);
    return agent;
  };

  return {
    request: (request) => new Promise((resolve) => exchange(agentFor(request.socketsMax ?? 64), request, resolve)),
    close() {
      for (const agent of agents.values()) {
        agent.maxFreeSockets = 0;
        for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
      }
    },
  };
}

function exchange(agent: GuardedAgent, request: Http1Request, resolve: (result: OutboundResult) => void): void {
  let timer: NodeJS.Timeout | undefined;
  let isWritten = false;
  let answer: (() => OutboundAnswer) | undefined;
  let startedAt = performance.now();
  const latency = () => performance.now() - startedAt;
  const settle = (result: OutboundResult) => {
    clearTimeout(timer);
    resolve(result);
  };
  /** Ends it with the answer as far as it came, or without one for this reason. What comes later is not heard. */
  const end = (transportError: TransportError) =>
    settle(answer?.() ?? { transportError, written: isWritten, latencyMs: latency() });

  let call: ClientRequest;
  try {
    call = startRequest(optionsFor(agent, request));
  } catch (error) {
    end(transportErrorOf(error));
    return;
  }
  const write = () => {
    try {
      for (const [name, value] of Object.entries(request.lateHeaders?.() ?? {})) call.setHeader(name, value);
      isWritten = true;
      call.end(request.body);
    } catch (error) {
      call.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  };
  call.once('socket', (socket: TLSSocket) => {
    if (request.isWanted?.() === false) {
      end('connect_error');
      call.destroy();
      return;
    }
    startedAt = performance.now();
    timer = setTimeout(() => {
      end('timeout');
      call.destroy();
    }, request.timeoutMs);
    // Verified already: a socket that served another request before.
    if (socket.authorized) write();
    else socket.once('secureConnect', write);
  });
  call.once('response', (response) => {
    const body = new CappedBody(request.bodyLimits ?? answerBodyLimits);
    answer = () => presentAnswer(response, body, latency());
    response.on('data', (chunk: Buffer) => {
      if (body.push(chunk)) return;
      end('reset');
      call.destroy();
    });
    response.once('close', () => end('reset'));
    response.on('error', () => {});
  });
  call.on('error', (error) => {
    const failure = unreachableOf(error);
    if (failure.isUntried) settle({ ...failure, written: false, latencyMs: latency() });
    else end(failure.transportError);
  });
  call.once('close', () => end('reset'));
}

function optionsFor(agent: GuardedAgent, request: Http1Request): PooledOptions {
  const { method, host, port, path, body, pool } = request;
  const headers = { ...request.headers, ...(method === 'POST' && { 'content-length': String(body.length) }) };
  return { agent, method, host, port, path, headers, ...(pool !== undefined && { pool }) };
}

/** Once the status is known it counts, however the body ended. */
function presentAnswer(response: IncomingMessage, body: CappedBody, latencyMs: number): OutboundAnswer {
  body.isCut ||= !response.complete;
  const { statusCode: status = 0, headers } = response;
  return { status, headers, body: body.text(), truncated: body.isCut, latencyMs };
}
