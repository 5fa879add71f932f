// HTTP/1.1 to untrusted servers: one deadline for everything, a limited body, no redirects, no
// cookies, no proxy, no hidden retry. Sockets are kept alive for each origin. A failure is a value,
// never an exception.
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request as startRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import {
  answerBodyLimits,
  type BodyLimits,
  CappedBody,
  type HttpAnswer,
  type HttpFailure,
  type TransportError,
  transportErrorOf,
  unreachableOf,
} from '@carillon/http2';
import type { OutboundOrigin, OutboundSockets } from './socket.ts';

export interface OutboundRequest extends OutboundOrigin {
  readonly method: 'GET' | 'POST';
  /** Path and query. */
  readonly path: string;
  /** Lower-case names. HTTP/1.1 adds `host` and `connection`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sent with its length, never chunked; empty for GET. */
  readonly body: Buffer;
  /**
   * Milliseconds from the moment the request has a connection, or begins to open one, to the last
   * byte of the answer.
   */
  readonly timeoutMs: number;
  /** Default: 8 KiB read, 4,096 bytes kept. */
  readonly bodyLimits?: BodyLimits;
  /**
   * Asked when the request comes, and again when it gets a connection. False: nothing is written,
   * and the result is a `connect_error`.
   */
  isWanted?(): boolean;
}

export type OutboundResult = HttpAnswer | HttpFailure;

export interface Http1Request extends OutboundRequest {
  /**
   * Concurrent connections to this origin. Further requests wait, and their deadline begins later.
   * Default 64.
   */
  readonly socketsMax?: number;
  /** Requests with different names here never share a connection. */
  readonly pool?: string;
  /**
   * Headers that depend on the moment: computed when the connection is verified and the request is
   * about to be written.
   */
  readonly lateHeaders?: () => Readonly<Record<string, string>>;
}

export interface OutboundHttp {
  /** Never rejects. A redirect is an answer like any other. */
  request(request: Http1Request): Promise<OutboundResult>;
  /**
   * Closes idle connections now and refuses nothing: requests under way end by their own deadlines.
   */
  close(): void;
}

/**
 * Milliseconds. Shorter than the usual limit of servers, so that a request rarely gets a socket
 * that the server has just closed.
 */
const idleMs = 4_000;

/**
 * Idle connections to all hosts together, because each has buffers. The one idle for the longest
 * time is closed first.
 */
const idleMostUsual = 768;

type PooledOptions = RequestOptions & { readonly pool?: string };

class GuardedAgent extends Agent {
  readonly #sockets: OutboundSockets;
  readonly #idleMax: number;
  /** The connection idle for the longest time comes first. */
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
    // The types omit the result.
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
  let answer: (() => HttpAnswer) | undefined;
  let startedAt = performance.now();
  const latency = () => performance.now() - startedAt;
  const settle = (result: OutboundResult) => {
    clearTimeout(timer);
    resolve(result);
  };
  /**
   * Ends the request with the answer so far, or without one for this reason. Later events are
   * ignored.
   */
  const end = (transportError: TransportError) =>
    settle(answer?.() ?? { transportError, written: isWritten, latencyMs: latency() });

  const isUnwanted = (): boolean => request.isWanted?.() === false;
  if (isUnwanted()) {
    end('connect_error');
    return;
  }
  let call: ClientRequest;
  try {
    call = startRequest(optionsFor(agent, request));
  } catch (error) {
    end(transportErrorOf(error));
    return;
  }
  const write = () => {
    if (isUnwanted()) {
      end('connect_error');
      call.destroy();
      return;
    }
    try {
      for (const [name, value] of Object.entries(request.lateHeaders?.() ?? {})) call.setHeader(name, value);
      isWritten = true;
      call.end(request.body);
    } catch (error) {
      call.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  };
  call.once('socket', (socket: TLSSocket) => {
    if (isUnwanted()) {
      end('connect_error');
      call.destroy();
      return;
    }
    startedAt = performance.now();
    timer = setTimeout(() => {
      end('timeout');
      call.destroy();
    }, request.timeoutMs);
    // A reused socket is verified already.
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

/** A known status counts, however the body ended. */
function presentAnswer(response: IncomingMessage, body: CappedBody, latencyMs: number): HttpAnswer {
  body.isCut ||= !response.complete;
  const { statusCode: status = 0, headers } = response;
  return { status, headers, body: body.text(), truncated: body.isCut, latencyMs };
}
