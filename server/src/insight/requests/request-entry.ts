// One entry of the request log: a request and its answer. It contains no body, no token and no
// value of a query. From a path it contains only Carillon's own ids.

import type { AnsweredRequest } from '../../ground/http/answered-request.ts';
import type { ApiError } from '../../ground/http/api-error.ts';
import { decodeId, encodeId, idPrefixes } from '../../ground/values/ids.ts';
import type { Caller } from '../../teams/apps/caller.ts';

export interface RequestEntry {
  /** ISO-8601 in UTC. */
  readonly at: string;
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly error: string | null;
  /** The path and code of the first issue, such as `audience.filter: unknown_property`. */
  readonly issue: string | null;
  readonly keyId: string;
  readonly keyName: string;
  readonly ms: number;
}

/** Entries of one app that are kept of each kind: refused and accepted (contract 19). */
export const keptMax = 1_000;
export const keptDays = 7;

/** The entry of an answer that went out at `nowMs`. */
export function entryOf(
  { id, method, route, params, status, seconds }: AnsweredRequest<unknown>,
  { keyId, keyName }: Caller,
  error: ApiError | null,
  nowMs: number,
): RequestEntry {
  const [issue] = error?.details.issues ?? [];
  return {
    at: new Date(nowMs).toISOString(),
    requestId: id,
    method,
    path: describePath(route, params),
    status,
    error: error?.code ?? null,
    issue: issue ? `${issue.path.join('.').slice(0, 128)}: ${issue.code}` : null,
    keyId: encodeId('key', keyId),
    keyName,
    ms: Math.round(seconds * 1000),
  };
}

/**
 * Writes a route with the ids of its path. Any other value, such as a person's external id, is
 * replaced by the name of its parameter.
 */
function describePath(route: string, params: Readonly<Record<string, string>>): string {
  return route.replaceAll(/:(\w+)/g, (_all, name: string) => {
    const value = params[name] ?? '';
    return idPrefixes.some((prefix) => decodeId(prefix, value) !== undefined) ? value : `{${name}}`;
  });
}
