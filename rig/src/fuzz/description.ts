// Reads the service's description: its operations, and whether an answer is one that it promises.
import { z } from 'zod';

export interface Schema {
  readonly [keyword: string]: unknown;
}

interface Media {
  readonly schema: { readonly $ref: string };
  readonly example?: unknown;
}

interface DescribedResponse {
  readonly headers?: Readonly<Record<string, { readonly required?: boolean; readonly $ref?: string }>>;
  readonly content?: Readonly<Record<string, Media>>;
}

export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly body: Media | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface Description {
  readonly operations: readonly Operation[];
  /** The schema that a `$ref` points to. */
  resolve(ref: string): Schema;
  /**
   * A sentence about what is wrong with an answer, without the answer's own values; null when
   * nothing is wrong.
   */
  judge(operation: Operation, answer: Answer): string | null;
}

type Described = Operation & { readonly responses: Readonly<Record<string, DescribedResponse & { $ref?: string }>> };

export function readDescription(text: string): Description {
  const document = JSON.parse(text);
  const resolve = (ref: string): Schema =>
    ref
      .slice(2)
      .split('/')
      .reduce((at, name) => at[name], document);
  const operations: Described[] = Object.entries<Record<string, never>>(document.paths).flatMap(([path, item]) =>
    Object.entries<{ [name: string]: never }>(item).map(([method, operation]) => ({
      id: operation['operationId'] as never,
      method: method.toUpperCase(),
      path,
      parameters: operation['parameters'] ?? [],
      body: (operation['requestBody'] as { content: Record<string, Media> } | undefined)?.content['application/json'],
      responses: operation['responses'] as never,
    })),
  );

  // zod follows references only to definitions within the same schema.
  const inward = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll('#/components/schemas/', '#/$defs/'));
  const $defs = inward(document.components.schemas);
  const readers = new Map<string, z.ZodType>();
  const readerOf = ({ $ref }: { readonly $ref: string }): z.ZodType => {
    const reader = readers.get($ref) ?? z.fromJSONSchema({ ...inward({ $ref }), $defs });
    readers.set($ref, reader);
    return reader;
  };

  const judge = (operation: Operation, { status, headers, text: body }: Answer): string | null => {
    const described = operations.find(({ id }) => id === operation.id)?.responses[String(status)];
    if (status >= 500) return `it answers ${status}`;
    if (!described) return `it answers ${status}, which is not described`;
    const response = (described.$ref ? resolve(described.$ref) : described) as DescribedResponse;
    for (const [name, header] of Object.entries(response.headers ?? {})) {
      const { required } = header.$ref ? (resolve(header.$ref) as { required?: boolean }) : header;
      if (required && !headers.has(name)) return `${status} without the header ${name}`;
    }
    const media = response.content?.['application/json'];
    if (!media) return body === '' || response.content ? null : `${status} with a body that is not described`;
    return judgeBody(status, headers, body, readerOf(media.schema));
  };
  return { operations, resolve, judge };
}

function judgeBody(status: number, headers: Headers, body: string, reader: z.ZodType): string | null {
  if (!/^application\/json\b/.test(headers.get('content-type') ?? '')) return `${status} is not JSON`;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return `${status} has a body that is not JSON`;
  }
  const { error } = reader.safeParse(value);
  if (error) {
    const [issue] = error.issues;
    return `${status} does not fit its schema at ${issue?.path.map((part) => (typeof part === 'number' ? '*' : String(part))).join('.')}: ${issue?.code}`;
  }
  if (status < 400) return null;
  const { request_id: id, issues } = value as { request_id?: unknown; issues?: unknown[] };
  if (id !== headers.get('x-request-id')) return `${status} whose request_id is another than the header's`;
  // A 400 must list issues, and no other status may.
  return (status === 400) === (Array.isArray(issues) && issues.length > 0) ? null : `${status} and its issues`;
}
