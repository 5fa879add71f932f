// The named schemas of the API's description, and the small parts that answers are made of. Requests are named here by the
// very schemas that routes parse with; answers are written once, closed, so that real ones can be held to them.
import { z } from 'zod';
import type { IdPrefix } from '../platform/ids.ts';

const named = z.registry<{ id: string }>();
const schemaAddress = (id: string): string => `#/components/schemas/${id}`;

/** Gives a schema its name in `components.schemas`: wherever it stands, the document refers to it. */
export function component<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  named.add(schema, { id });
  return schema;
}

/** A reference to a named schema; throws for one without a name. */
export function refTo(schema: z.ZodType): { $ref: string } {
  const id = named.get(schema)?.id;
  if (id === undefined) throw new Error('a body that is described needs a named schema');
  return { $ref: schemaAddress(id) };
}

/** Every named schema as JSON Schema, by name in alphabetical order. */
export function componentSchemas(): Record<string, object> {
  // The input side is what a caller writes. Answers have no transforms, so for them both sides are one.
  const { schemas } = z.toJSONSchema(named, { io: 'input', uri: schemaAddress, override: dropSafeBounds });
  const sorted = Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    sorted.map(([id, { $schema: _dialect, $id: _address, ...schema }]) => [id, schema] as const),
  );
}

/** The fields of a query as parameters. Their output side says what the text stands for: `limit` is a number. */
export function queryParameters(query: z.ZodObject): object[] {
  const { properties = {} } = z.toJSONSchema(query, { io: 'output', override: dropSafeBounds });
  return Object.entries(query.shape).map(([name, field]) => ({
    name,
    in: 'query',
    required: !field.safeParse(undefined).success,
    schema: properties[name],
  }));
}

// What zod adds to every integer: true of any JSON number that a program reads exactly.
function dropSafeBounds({ jsonSchema }: { jsonSchema: { minimum?: number; maximum?: number } }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

export const instant = component(
  'Instant',
  z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
    .meta({ format: 'date-time', description: 'ISO-8601 in UTC, to the millisecond.' }),
);

function idOf(prefix: IdPrefix) {
  return z.string().regex(new RegExp(`^${prefix}_[0-9A-Za-z]{22}$`));
}

export const messageId = component('MessageId', idOf('msg'));
export const deviceId = component('DeviceId', idOf('dev'));
export const userId = component('UserId', idOf('usr'));
export const segmentId = component('SegmentId', idOf('seg'));
export const keyId = component('KeyId', idOf('key'));
export const requestId = component(
  'RequestId',
  idOf('req').describe('Also in the header x-request-id, and in the log.'),
);

export const count = z.int().min(0);

/** The fields of a page (contract 17). */
export function pageFields<Item extends z.ZodType>(item: Item) {
  return { data: z.array(item), ...pageEnd };
}

export const pageEnd = {
  has_more: z.boolean(),
  next_cursor: z
    .string()
    .nullable()
    .describe('Null exactly when there is no more. A page may be empty and still have a next one.'),
};
