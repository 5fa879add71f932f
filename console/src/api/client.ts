// The one place that sends requests. An operation has the name, the parameters and the answer of the
// API's description. A refusal becomes a Problem, which carries the service's own words.
import { type Operations, operations } from './types.gen.ts';

export type OperationName = keyof Operations;
export type Answer<Name extends OperationName> = Operations[Name]['answer'];
type Described<Name extends OperationName> = Operations[Name]['given'];

/** Filters stand in the page's address, so any text may come. The service checks it. */
type Query<Fields> = { readonly [Field in keyof Fields]: Fields[Field] | string };

/**
 * The parameters of an operation's path and query side by side, and its `body`. An empty query
 * parameter is not sent.
 */
export type Given<Name extends OperationName> = object &
  (Described<Name> extends { params: infer Path } ? Path : unknown) &
  ('query' extends keyof Described<Name> ? Query<NonNullable<Described<Name>['query']>> : unknown) &
  (Described<Name> extends { body: infer Body } ? { readonly body: Body } : unknown);

export interface Issue {
  readonly path: readonly (string | number)[];
  readonly code: string;
  readonly message: string;
  readonly allowed?: readonly unknown[];
  readonly limit?: number | string;
  /** On `changed_meanwhile`: the object as it is now. */
  readonly present?: unknown;
}

interface ProblemBody {
  readonly error: string;
  readonly message: string;
  readonly issues?: readonly Issue[];
  readonly request_id?: string;
  readonly retry_after_ms?: number;
  readonly present?: unknown;
  readonly path?: readonly (string | number)[];
}

/** An answer that is no success. `status` 0: the service did not answer at all. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly issues: readonly Issue[];
  readonly requestId: string | null;
  /** The part of a filter whose count takes too long. */
  readonly path: readonly (string | number)[] | null;
  /** The present object, where somebody else changed it meanwhile. */
  readonly present: unknown;

  constructor(status: number, body: ProblemBody) {
    super(body.message);
    this.name = 'Problem';
    this.status = status;
    this.code = body.error;
    this.issues = body.issues ?? [];
    this.requestId = body.request_id ?? null;
    this.path = body.path ?? null;
    this.present = body.present ?? this.issues.find((issue) => issue.present !== undefined)?.present;
  }

  /** True: somebody else saved the object since it was read. */
  get isChangedMeanwhile(): boolean {
    return this.code === 'changed_meanwhile' || this.issues.some((issue) => issue.code === 'changed_meanwhile');
  }
}

const unreachable: ProblemBody = {
  error: 'unreachable',
  message: 'Carillon does not answer. Check that the service runs and that this computer is online.',
};

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly idempotencyKey?: string;
  /** True: the request also completes when the page is left, if its body is small. */
  readonly outlivesPage?: boolean;
}

/**
 * The most characters of a body that a browser still sends after its page. It allows 64 KiB, and a
 * character takes at most 3 bytes.
 */
const keptAliveMax = 20_000;

/** Whether a body is small enough for `outlivesPage`. */
export const isKeptAlive = (body: unknown): boolean => JSON.stringify(body).length <= keptAliveMax;

/** Listeners that hear when the session has ended. */
const ended = new Set<() => void>();

/**
 * Calls `listener` whenever an answer says that nobody is signed in. Returns a function that stops
 * this.
 */
export function onSessionEnd(listener: () => void): () => void {
  ended.add(listener);
  return () => ended.delete(listener);
}

/** The address of an operation, for links that the browser follows itself, such as downloads. */
export function addressOf<Name extends OperationName>(name: Name, given: Given<Name>): string {
  const fields = new Map<string, unknown>(Object.entries({ ...given, body: null }));
  const path = operations[name].path.replaceAll(/{(\w+)}/g, (_place, field: string) => {
    const id = String(fields.get(field));
    fields.delete(field);
    return encodeURIComponent(id);
  });
  const asked = [...fields].flatMap(([field, value]) =>
    value === undefined || value === null || value === '' ? [] : [[field, String(value)]],
  );
  const search = new URLSearchParams(asked).toString();
  return search === '' ? path : `${path}?${search}`;
}

/** Calls an operation and returns its answer. Throws a Problem. */
export async function call<Name extends OperationName>(
  name: Name,
  given: Given<Name>,
  { signal, idempotencyKey, outlivesPage = false }: CallOptions = {},
): Promise<Answer<Name>> {
  const { body } = given as { readonly body?: unknown };
  const response = await send(addressOf(name, given), {
    method: operations[name].method,
    headers: {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
    ...(outlivesPage && isKeptAlive(body) && { keepalive: true }),
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer as Answer<Name>;
  const problem = new Problem(response.status, readProblem(response.status, answer));
  if (problem.code === 'not_signed_in') for (const listener of ended) listener();
  throw problem;
}

/** Reads an operation's answer as CSV. Throws a Problem. */
export async function readCsv<Name extends OperationName>(name: Name, given: Given<Name>): Promise<string> {
  const response = await send(addressOf(name, given), { headers: { accept: 'text/csv' } });
  if (response.ok) return response.text();
  throw new Problem(response.status, readProblem(response.status, await response.json().catch(() => undefined)));
}

async function send(address: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(address, { credentials: 'same-origin', ...request });
  } catch (error) {
    if (request.signal?.aborted) throw error;
    throw new Problem(0, unreachable);
  }
}

function readProblem(status: number, answer: unknown): ProblemBody {
  if (typeof answer === 'object' && answer !== null && 'error' in answer && 'message' in answer) {
    return answer as ProblemBody;
  }
  return { error: 'unexpected', message: `The service answered ${status} without saying why. Try again.` };
}
