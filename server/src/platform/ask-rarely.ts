// A question that anybody may raise and that costs a statement, such as whether the database answers: it is asked at most once in
// a while, and all who raise it meanwhile share one answer. Holds one answer and no caller.

export interface AskRarelyOptions {
  /** Milliseconds from one asking to the next. */
  readonly everyMs: number;
  /** A time that only goes forward. */
  steadyMs(): number;
}

/** Resolves or rejects as the latest asking did. An asking that is still under way is never joined by a second one. */
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
