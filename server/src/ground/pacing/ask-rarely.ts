// Limits a question that anybody may trigger and that costs a statement, such as whether the
// database answers. It is asked at most once in `everyMs`, and all callers in between share the
// answer. Keeps one answer and no state for callers.

export interface AskRarelyOptions {
  /** Milliseconds between two questions. */
  readonly everyMs: number;
  /** A time that never goes back. */
  steadyMs(): number;
}

/**
 * Resolves or rejects like the latest question. A second question never starts while one is still
 * running.
 */
export function askRarely<Answer>(
  ask: () => Promise<Answer>,
  { everyMs, steadyMs }: AskRarelyOptions,
): () => Promise<Answer> {
  let latest: Promise<Answer> | undefined;
  let askedAt = 0;
  let isUnderWay = false;
  return () => {
    const nowMs = steadyMs();
    if (latest !== undefined && (isUnderWay || nowMs - askedAt < everyMs)) return latest;
    askedAt = nowMs;
    isUnderWay = true;
    const settle = (): void => {
      isUnderWay = false;
    };
    latest = ask();
    latest.then(settle, settle);
    return latest;
  };
}
