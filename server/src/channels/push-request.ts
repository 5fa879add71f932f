// The request of a push, which takes its own answer. Thousands wait for their answers at once, and
// each lives through garbage collections. So this is one object, without a promise and without
// functions of its own.
import type { AskingRequest } from '../http2/transport.ts';
import type { OutboundResult } from '../outbound/http.ts';
import type { OutboundOrigin } from '../outbound/socket.ts';
import type { Outcome, SentPush } from './channel.ts';
import { refuseLocally } from './provider-answer.ts';

/** The parts of a request that a channel decides about. */
export interface PushRequestParts {
  readonly path: string;
  /** Requests with different names here never share a connection. */
  readonly pool: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly timeoutMs: number;
  /** Headers whose values are unique for each request. */
  readonly unindexed?: readonly string[];
}

/** What a channel makes of an answer: the outcome, or a promise after further requests. */
export type Conclude<Context> = (context: Context, answer: OutboundResult) => Outcome | Promise<Outcome>;

/** `Context` is everything else that the request was made with. */
export class PushRequest<Context extends { readonly push: SentPush<unknown> }> implements AskingRequest {
  readonly host: string;
  readonly port: number;
  readonly method = 'POST';
  readonly path: string;
  readonly pool: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly timeoutMs: number;
  readonly unindexed: readonly string[];
  readonly #context: Context;
  readonly #conclude: Conclude<Context>;

  constructor(context: Context, { host, port }: OutboundOrigin, parts: PushRequestParts, conclude: Conclude<Context>) {
    this.host = host;
    this.port = port;
    this.path = parts.path;
    this.pool = parts.pool;
    this.headers = parts.headers;
    this.body = parts.body;
    this.timeoutMs = parts.timeoutMs;
    this.unindexed = parts.unindexed ?? none;
    this.#context = context;
    this.#conclude = conclude;
  }

  isWanted(): boolean {
    return this.#context.push.isWanted?.() ?? true;
  }

  onResult(answer: OutboundResult): void {
    let outcome: Outcome | Promise<Outcome>;
    try {
      outcome = this.#conclude(this.#context, answer);
    } catch (error) {
      outcome = faultOf(error);
    }
    tellOutcome(this.#context.push, outcome);
  }
}

/**
 * Begins a push by `begin`, which answers the outcome when there is no request. A fault of ours is
 * an outcome, too.
 */
export function beginPush<One extends SentPush<unknown>>(
  push: One,
  begin: (push: One) => Outcome | Promise<Outcome> | undefined,
): void {
  let outcome: Outcome | Promise<Outcome> | undefined;
  try {
    outcome = begin(push);
  } catch (error) {
    outcome = faultOf(error);
  }
  if (outcome) tellOutcome(push, outcome);
}

function tellOutcome(push: SentPush<unknown>, outcome: Outcome | Promise<Outcome>): void {
  if (!(outcome instanceof Promise)) push.onOutcome(outcome);
  else void outcome.catch(faultOf).then((later) => push.onOutcome(later));
}

function faultOf(error: unknown): Outcome {
  return refuseLocally('unknown_error', String(error));
}

const none: readonly string[] = [];
