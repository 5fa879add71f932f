// The one place that sends requests. A refusal becomes a Problem, which carries the service's own
// words; nothing here knows an operation.

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

const base = '/console/api';
const unreachable: ProblemBody = {
  error: 'unreachable',
  message: 'Carillon does not answer. Check that the service runs and that this computer is online.',
};

type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Call {
  readonly query?: Query;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
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
export function addressOf(path: string, query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null || value === '' ? [] : [[name, String(value)]],
  );
  const search = new URLSearchParams(given).toString();
  return base + path + (search === '' ? '' : `?${search}`);
}

/** Makes the request and returns the answer's JSON. Throws a Problem. */
export async function call<Answer>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  { query = {}, body, signal, headers, outlivesPage = false }: Call = {},
): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(addressOf(path, query), {
      method,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      credentials: 'same-origin',
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
      ...(outlivesPage && isKeptAlive(body) && { keepalive: true }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, unreachable);
  }
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer as Answer;
  const problem = new Problem(response.status, readProblem(response.status, answer));
  if (problem.code === 'not_signed_in') for (const listener of ended) listener();
  throw problem;
}

/** Makes a GET request whose answer is a text of this type, such as CSV. Throws a Problem. */
export async function callForText(path: string, type: string, query: Query = {}): Promise<string> {
  const asked = fetch(addressOf(path, query), { headers: { accept: type }, credentials: 'same-origin' });
  const response = await asked.catch(() => {
    throw new Problem(0, unreachable);
  });
  if (response.ok) return response.text();
  throw new Problem(response.status, readProblem(response.status, await response.json().catch(() => undefined)));
}

/** Escapes one part of a path, for any caller's id. */
export const part = (id: string): string => encodeURIComponent(id);

function readProblem(status: number, answer: unknown): ProblemBody {
  if (typeof answer === 'object' && answer !== null && 'error' in answer && 'message' in answer) {
    return answer as ProblemBody;
  }
  return { error: 'unexpected', message: `The service answered ${status} without saying why. Try again.` };
}
