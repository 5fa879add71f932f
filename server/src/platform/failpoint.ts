// Named places at commit boundaries where a test may kill, stop, delay or fail this process. Reads no setting
// and has no behaviour of its own: without a handler, which only code from outside the service can arm, every call returns
// at once, so nothing in a running service's surroundings can switch one on.

/** Each stands between the two things that must not fall apart. */
export type Failpoint =
  /** Accepted in full, not yet committed. */
  | 'message.before_commit'
  /** COMMIT on the wire, its reply not yet read. */
  | 'message.after_commit_sent'
  /** Committed, the caller not yet answered. */
  | 'message.before_reply'
  /** The claim is committed, no push begun. */
  | 'batch.after_claim'
  /** The provider not yet reached. */
  | 'push.before_write'
  /** The provider answered, nothing recorded. */
  | 'push.after_reply'
  /** Outcomes and progress written, not committed; the message's counters leave with the COMMIT. */
  | 'outcomes.before_commit'
  /** The same committed, the process not yet told. */
  | 'outcomes.after_commit'
  /** The heartbeat about to be written. */
  | 'lease.before_renew'
  /** A scheduled message is taken and fanned out, nothing of it committed. */
  | 'schedule.after_wake'
  /** The endpoint answered, nothing recorded. */
  | 'webhook.after_response'
  /** The attempt is written, not committed. */
  | 'webhook.before_ack_commit'
  /** A batch's events are queued to be told again, not committed. */
  | 'replay.before_commit'
  /** The same committed, those of the next batch not begun. */
  | 'replay.after_commit'
  /** A chunk of a moving key's values is copied or emptied, others are not. */
  | 'slots.after_chunk'
  /** A moving key enters its next phase: written, not committed. */
  | 'slots.before_commit'
  /** A migration's ledger row is written, its statements are not. */
  | 'migrate.mid'
  /** Some secrets are sealed with the new master key, others still with the former one. */
  | 'reseal.mid';

/** May throw, wait, or end the process. */
export type FailpointHandler = (name: Failpoint) => void | Promise<void>;

let handler: FailpointHandler | undefined;

/**
 * Passed at a commit boundary. Costs one comparison unless a handler is armed; awaited, so that a handler can hold the caller.
 * Undefined: nothing to wait for, and who passes for every push saves the turn.
 */
export function failpoint(name: Failpoint): Promise<void> | undefined {
  return handler?.(name) ?? undefined;
}

/**
 * Passed by a transaction as its last word, for the moment after: its COMMIT is then with the operating system and the reply
 * not yet read. The driver writes once the loop has turned, so it is the turn after that. A handler can end or stop the process
 * there, but has no caller to hold or to fail.
 */
export function failpointAfterCommitSent(name: Failpoint): void {
  if (handler) setImmediate(() => setImmediate(() => void handler?.(name)));
}

/** For tests, and for programs that start the service in order to break it. Returns what disarms it. */
export function armFailpoints(given: FailpointHandler): () => void {
  handler = given;
  return () => {
    handler = undefined;
  };
}
