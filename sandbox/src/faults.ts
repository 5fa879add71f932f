// Fault rules: which requests go wrong, and how. Pure except for each rule's counts. The same
// requests in the same order always meet the same faults.
import { createHash, randomBytes } from 'node:crypto';
import type { Target } from './provider.ts';
import type { SenderName } from './senders.ts';

/** The action on a request: it replaces the answer or disturbs its transport. */
export type FaultAction =
  /** Another answer. Without `body` the vendor's usual words; a 2xx counts as delivered. */
  | {
      readonly type: 'status';
      readonly status: number;
      /** Seconds, or an HTTP date. */
      readonly retryAfter: number | string | null;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string | null;
    }
  /** The provider's own error of that name, with its status and body. */
  | { readonly type: 'error'; readonly reason: string; readonly retryAfter: number | string | null }
  /** No answer, ever. `delivers`: the device still gets the push. */
  | { readonly type: 'hang'; readonly delivers: boolean }
  /** The real answer after a delay; with `byteMs` its body comes one octet at a time. */
  | { readonly type: 'slow'; readonly delayMs: number; readonly byteMs: number }
  /** RST_STREAM with this code; over HTTP/1.1 the socket is destroyed. */
  | { readonly type: 'reset'; readonly code: ResetCode; readonly delivers: boolean }
  /**
   * GOAWAY. With `processed` this request is still answered. Otherwise this request and all later
   * ones are not answered and may be replayed. A null `debug` means the provider's own words.
   */
  | { readonly type: 'goaway'; readonly code: ResetCode; readonly debug: string | null; readonly processed: boolean }
  /** The real answer, and from then on SETTINGS that allow this many streams. */
  | { readonly type: 'settings'; readonly streams: number }
  /** The real answer. The connection is closed once nothing has arrived on it for this long. */
  | { readonly type: 'idle'; readonly idleMs: number }
  /** The connection ends, after this answer or without it. */
  | { readonly type: 'close'; readonly afterAnswer: boolean; readonly delivers: boolean }
  /** A body that must not break any client, under any status. */
  | { readonly type: 'rubbish'; readonly kind: 'html' | 'truncated_json' | 'megabyte'; readonly status: number };

/** HTTP/2 error codes (RFC 9113 section 7) under their names there. */
export const resetCodes = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  ENHANCE_YOUR_CALM: 11,
} as const;

export type ResetCode = keyof typeof resetCodes;

/** Selects requests. All given conditions must hold. */
export interface FaultMatch {
  readonly vendor: SenderName | null;
  readonly token: string | null;
  readonly tokenPrefix: string | null;
  /** A share of all tokens, 0 to 1: always the same tokens. */
  readonly share: number | null;
  /** A share of all connections, selected by their numbers. */
  readonly connectionShare: number | null;
  /** Another seed selects other tokens and connections. */
  readonly seed: string;
}

/** When a rule acts among the requests that match it, counted from 1. */
export interface FaultTiming {
  /** With `token` or `connection`, each token or connection has a count of its own. */
  readonly count: 'all' | 'token' | 'connection';
  readonly nth: readonly number[] | null;
  readonly every: number | null;
  /** The number of first requests that the rule ignores. */
  readonly after: number;
  /** How often the rule acts, per count; null: without limit. */
  readonly times: number | null;
}

export interface FaultRule {
  readonly id: string;
  readonly match: FaultMatch;
  readonly timing: FaultTiming;
  readonly action: FaultAction;
}

interface Running {
  readonly rule: FaultRule;
  /** Counts by token, by connection number, or one for all. */
  readonly counts: Map<string | number, { seen: number; acted: number }>;
  hits: number;
}

/**
 * The current rules. The first that acts on a request decides. Counts of tokens stay until the
 * rules are replaced.
 */
export class Faults {
  #running: Running[] = [];

  /** Replaces all rules and resets all counts. */
  set(rules: readonly FaultRule[]): void {
    this.#running = rules.map((rule) => ({ rule, counts: new Map(), hits: 0 }));
  }

  /** Adds a rule after the others, or before them, where it takes precedence. */
  add(rule: FaultRule, place: 'first' | 'last' = 'last'): void {
    const running = { rule, counts: new Map(), hits: 0 };
    this.#running = place === 'first' ? [running, ...this.#running] : [...this.#running, running];
  }

  remove(id: string): boolean {
    const before = this.#running.length;
    this.#running = this.#running.filter(({ rule }) => rule.id !== id);
    return this.#running.length < before;
  }

  list(): { rule: FaultRule; hits: number }[] {
    return this.#running.map(({ rule, hits }) => ({ rule, hits }));
  }

  get isEmpty(): boolean {
    return this.#running.length === 0;
  }

  /** Tells the rules that a connection has ended. */
  connectionEnded(connectionId: number): void {
    for (const { rule, counts } of this.#running) if (rule.timing.count === 'connection') counts.delete(connectionId);
  }

  /**
   * The rule that acts on this request, if any. It counts the request, so call it once per request.
   */
  next(target: Target, connectionId: number): FaultRule | undefined {
    let acting: Running | undefined;
    for (const running of this.#running) {
      if (!isMatch(running.rule.match, target, connectionId)) continue;
      const key = { all: '', token: target.token, connection: connectionId }[running.rule.timing.count];
      const count = running.counts.get(key) ?? { seen: 0, acted: 0 };
      running.counts.set(key, count);
      count.seen += 1;
      if (acting !== undefined || !isDue(running.rule.timing, count)) continue;
      count.acted += 1;
      running.hits += 1;
      acting = running;
    }
    return acting?.rule;
  }
}

function isMatch(match: FaultMatch, target: Target, connectionId: number): boolean {
  const { vendor, token, tokenPrefix, share, connectionShare, seed } = match;
  if (vendor !== null && vendor !== target.vendor) return false;
  if (token !== null && token !== target.token) return false;
  if (tokenPrefix !== null && !target.token.startsWith(tokenPrefix)) return false;
  if (connectionShare !== null && positionOf(seed, `connection ${connectionId}`) >= connectionShare) return false;
  return share === null || positionOf(seed, target.token) < share;
}

function isDue(timing: FaultTiming, count: { seen: number; acted: number }): boolean {
  if (timing.times !== null && count.acted >= timing.times) return false;
  const nth = count.seen - timing.after;
  if (nth < 1) return false;
  if (timing.nth !== null && !timing.nth.includes(nth)) return false;
  return timing.every === null || nth % timing.every === 0;
}

/** A position between 0 and 1 for a name, evenly distributed and always the same for one seed. */
function positionOf(seed: string, name: string): number {
  return createHash('sha256').update(seed).update(name).digest().readUInt32BE(0) / 2 ** 32;
}

export function makeFaultId(): string {
  return `fault_${randomBytes(4).toString('hex')}`;
}
