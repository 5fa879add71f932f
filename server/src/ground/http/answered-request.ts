// The facts about each request that a server tells the metrics and the request log.
import type { ApiError } from './api-error.ts';

/** A request whose answer has gone out. */
export interface AnsweredRequest<Caller> {
  readonly id: string;
  readonly method: string;
  readonly route: string;
  readonly params: Readonly<Record<string, string>>;
  readonly status: number;
  readonly seconds: number;
  /** Null: no key was known. */
  readonly caller: Caller | null;
  /** Null: the request was not refused. */
  readonly error: ApiError | null;
}
