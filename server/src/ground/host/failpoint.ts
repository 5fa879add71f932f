// Failpoints: named places at commit boundaries where a test may kill, stop, delay or fail this
// process. Without a handler every call returns at once. Only code from outside the
// service can arm a handler and no setting is read, so nothing in the environment of a running
// service can do so.

/**
 * Each name stands for a moment between two steps. A crash between them must not leave one step
 * without the other.
 */
export type Failpoint =
  /** The message is accepted and not yet committed. */
  | 'message.before_commit'
  /** The COMMIT is sent, and its reply is not read yet. */
  | 'message.after_commit_sent'
  /** The message is committed, and the caller is not answered yet. */
  | 'message.before_reply'
  /** The claim is committed and no push has begun. */
  | 'batch.after_claim'
  /** The provider is not reached yet. */
  | 'push.before_write'
  /** The provider answered and nothing is recorded. */
  | 'push.after_reply'
  /**
   * Outcomes and progress are written and not committed; the message's counters are sent with the
   * COMMIT.
   */
  | 'outcomes.before_commit'
  /** Outcomes and progress are committed, and the process does not know yet. */
  | 'outcomes.after_commit'
  /** The lease is about to be renewed. */
  | 'lease.before_renew'
  /** A scheduled message is claimed and fanned out, and nothing is committed. */
  | 'schedule.after_wake'
  /** The endpoint answered and nothing is recorded. */
  | 'webhook.after_response'
  /** The attempt is written and not committed. */
  | 'webhook.before_ack_commit'
  /** A batch's events are in the outbox again, and not committed. */
  | 'replay.before_commit'
  /** The events of a batch are committed, and the next batch is not begun. */
  | 'replay.after_commit'
  /** One chunk of a moving key's values is copied or emptied, and others are not. */
  | 'slots.after_chunk'
  /** A moving key's next phase is written and not committed. */
  | 'slots.before_commit'
  /** A migration's ledger row is written, and its statements are not run. */
  | 'migrate.mid'
  /** Some secrets are sealed with the new master key, others still with the former one. */
  | 'reseal.mid';

/** A handler may throw, wait, or end the process. */
export type FailpointHandler = (name: Failpoint) => void | Promise<void>;

let handler: FailpointHandler | undefined;

/**
 * Called at a commit boundary. Costs one comparison unless a handler is armed. Await the result, so
 * that a handler can delay the caller. Undefined means that there is nothing to await, which saves
 * a turn of the event loop on every push.
 */
export function failpoint(name: Failpoint): Promise<void> | undefined {
  return handler?.(name) ?? undefined;
}

/**
 * Call this as the last step of a transaction, for the moment after the COMMIT: the operating
 * system then has the COMMIT, and its reply is not read. The COMMIT is written in this turn of the
 * event loop, and the handler runs at the end of the turn. A handler can end or stop the process
 * there, but cannot delay or fail a caller.
 */
export function failpointAfterCommitSent(name: Failpoint): void {
  if (handler) setImmediate(() => void handler?.(name));
}

/**
 * Arms a handler, for tests and for programs that start the service in order to break it. Returns a
 * function that disarms it.
 */
export function armFailpoints(given: FailpointHandler): () => void {
  handler = given;
  return () => {
    handler = undefined;
  };
}
