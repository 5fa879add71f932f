// Reads the service's own description as a client would: finds operations, follows references, and
// compares every answer with its promise. zod reads the JSON Schemas. When two closed objects stand
// in one `allOf`, zod closes neither.
import { expect } from 'vitest';
import { z } from 'zod';
import type { Bundle, Response } from './setup.ts';

interface Media {
  readonly schema: { readonly $ref: string };
  readonly example: unknown;
}

interface DescribedResponse {
  readonly description: string;
  readonly headers: Record<string, { required?: boolean; $ref?: string }>;
  readonly content?: Record<string, Media>;
}

export interface DescribedOperation {
  readonly path: string;
  readonly method: string;
  readonly operationId: string;
  readonly security: readonly Record<string, readonly string[]>[];
  readonly parameters?: readonly { name: string; in: string; required: boolean; schema: object }[];
  readonly requestBody?: { readonly content: Record<string, Media> };
  readonly responses: Record<string, DescribedResponse | { readonly $ref: string }>;
}

export interface Call {
  /** The parameters of the path. */
  readonly in?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** The key to use. Default: the server key when the operation needs one. */
  readonly key?: string | null;
}

export interface Description {
  readonly text: string;
  readonly document: ReturnType<typeof JSON.parse>;
  readonly operations: readonly DescribedOperation[];
  /** The value that a `$ref` points to. Throws when it points nowhere. */
  resolve<Target>(ref: string): Target;
  responseOf(operation: DescribedOperation, status: number): DescribedResponse | undefined;
  /** Every response body, with its example. */
  readonly answers: readonly Media[];
  /** A sentence about what is wrong with a value; empty when it fits. */
  misfits(schema: { readonly $ref: string }, value: unknown): string;
  /** The schema of an operation's request. */
  requestSchemaOf(id: string): { readonly $ref: string };
  /** Calls an operation and fails unless the description promises this very answer. */
  ask(id: string, call?: Call): Promise<Response>;
  /** Every operation and status that was answered, such as `getUser 404`. */
  readonly seen: ReadonlySet<string>;
  /** Every operation and error that was answered, as `getUser not_found`. */
  readonly errors: ReadonlySet<string>;
}

export async function readDescription(t: Bundle): Promise<Description> {
  const text = await (await fetch(`${t.url}/openapi.json`)).text();
  const document = JSON.parse(text);
  const operations: DescribedOperation[] = Object.entries<Record<string, DescribedOperation>>(document.paths).flatMap(
    ([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  );

  const operationOf = (id: string): DescribedOperation => {
    const operation = operations.find(({ operationId }) => operationId === id);
    if (!operation) throw new Error(`${id} is not described`);
    return operation;
  };

  const resolve = <Target>(ref: string): Target => {
    const names = ref.replace(/^#\//, '').split('/');
    const target = names.reduce<Record<string, unknown> | undefined>((at, name) => at?.[name] as never, document);
    if (target === undefined) throw new Error(`${ref} leads nowhere`);
    return target as Target;
  };

  const responseOf: Description['responseOf'] = (operation, status) => {
    const response = operation.responses[status];
    return response && '$ref' in response ? resolve<DescribedResponse>(response.$ref) : response;
  };

  // zod follows references only to definitions within the same schema.
  const inward = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll('#/components/schemas/', '#/$defs/'));
  const $defs = inward(document.components.schemas);
  const readers = new Map<string, z.ZodType>();
  const misfits: Description['misfits'] = (schema, value) => {
    const reader = readers.get(schema.$ref) ?? z.fromJSONSchema({ ...inward(schema), $defs });
    readers.set(schema.$ref, reader);
    const { error } = reader.safeParse(value);
    return error ? `${JSON.stringify(value)}\n${z.prettifyError(error)}` : '';
  };

  const seen = new Set<string>();
  const errors = new Set<string>();
  const hold = (id: string, answer: Response): void => {
    const response = responseOf(operationOf(id), answer.status);
    if (!response) throw new Error(`${id} answers ${answer.status}: ${JSON.stringify(answer.body)}`);
    const isRequired = (header: { required?: boolean; $ref?: string }): boolean | undefined =>
      (header.$ref ? resolve<{ required?: boolean }>(header.$ref) : header).required;
    const missing = Object.entries(response.headers).filter(
      ([name, header]) => isRequired(header) && !answer.headers.has(name),
    );
    expect({ id, missing }).toEqual({ id, missing: [] });
    const media = response.content?.['application/json'];
    if (media) {
      expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/);
      expect(misfits(media.schema, answer.body), `${id} ${answer.status}`).toBe('');
    } else expect(answer.body).toBe('');
    seen.add(`${id} ${answer.status}`);
    if (answer.body?.error) errors.add(`${id} ${answer.body.error}`);
  };

  return {
    text,
    document,
    operations,
    resolve,
    responseOf,
    answers: operations.flatMap((operation) =>
      Object.keys(operation.responses).flatMap((status) =>
        Object.values(responseOf(operation, Number(status))?.content ?? {}),
      ),
    ),
    misfits,
    requestSchemaOf(id) {
      const schema = operationOf(id).requestBody?.content['application/json']?.schema;
      if (!schema) throw new Error(`${id} has no body`);
      return schema;
    },
    async ask(id, call = {}) {
      const { path, method, security } = operationOf(id);
      const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(call.in?.[name] ?? ''));
      const key = call.key === undefined && security.length > 0 ? t.app.serverKey : call.key;
      const { body, headers, query = '' } = call;
      const options = { ...(key && { key }), ...(body !== undefined && { body }), ...(headers && { headers }) };
      const answer = await t.request(method, filled + query, options);
      hold(id, answer);
      return answer;
    },
    seen,
    errors,
  };
}
