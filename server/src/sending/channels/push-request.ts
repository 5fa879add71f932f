// The request of a push, which takes its own answer. A push that waits for its answer is copied at
// each garbage collection, so a request has neither promises nor functions of its own.

import type { OutboundResult } from '../../ground/outbound/http.ts';
import type { OutboundOrigin } from '../../ground/outbound/socket.ts';
import type { AskingRequest } from '../../ground/outbound/transport.ts';
import type { Outcome, SentPush } from './channel.ts';
import { refuseLocally } from './provider-answer.ts';

/** The parts of a request that a channel decides about. */
interface PushRequestParts {
  readonly path: string;
  /** Requests with different names here never share a connection. */
  readonly pool: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly timeoutMs: number;
  /** Headers whose values are unique for each request. */
  readonly unindexed?: readonly string[];
}

/** Turns an answer into the outcome, or into a promise of it if further requests are needed. */
type Conclude<Context extends Made> = (
  request: PushRequest<Context>,
  answer: OutboundResult,
) => Outcome | Promise<Outcome>;

interface Made {
  readonly push: SentPush<unknown>;
}

/** `made` contains the push and everything else that the channel needs at the answer. */
export class PushRequest<Context extends Made> implements AskingRequest {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly pool: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly timeoutMs: number;
  readonly unindexed: readonly string[];
  readonly made: Context;
  readonly #conclude: Conclude<Context>;

  constructor(made: Context, { host, port }: OutboundOrigin, parts: PushRequestParts, conclude: Conclude<Context>) {
    this.host = host;
    this.port = port;
    this.path = parts.path;
    this.pool = parts.pool;
    this.headers = parts.headers;
    this.body = parts.body;
    this.timeoutMs = parts.timeoutMs;
    this.unindexed = parts.unindexed ?? none;
    this.made = made;
    this.#conclude = conclude;
  }

  isWanted(): boolean {
    return this.made.push.isWanted?.() ?? true;
  }

  onResult(answer: OutboundResult): void {
    let outcome: Outcome | Promise<Outcome>;
    try {
      outcome = this.#conclude(this, answer);
    } catch (error) {
      outcome = faultOf(error);
    }
    tellOutcome(this.made.push, outcome);
  }
}

type Begun = Outcome | undefined | Promise<Outcome | undefined>;

/**
 * Begins a push and passes it the outcome that `begin` returns, now or later. Undefined: a request
 * under way will pass it. A fault of ours becomes an outcome too.
 */
export function beginPush<One extends SentPush<unknown>>(push: One, begin: (push: One) => Begun): void {
  let outcome: Begun;
  try {
    outcome = begin(push);
  } catch (error) {
    outcome = faultOf(error);
  }
  if (outcome) tellOutcome(push, outcome);
}

function tellOutcome(push: SentPush<unknown>, outcome: Outcome | Promise<Outcome | undefined>): void {
  if (outcome instanceof Promise) void outcome.catch(faultOf).then((later) => later && push.onOutcome(later));
  else push.onOutcome(outcome);
}

function faultOf(error: unknown): Outcome {
  return refuseLocally('unknown_error', String(error));
}

const none: readonly string[] = [];
