// zod's schemas as JSON Schema, in the places where a description has them: `components.schemas`, references and parameters.
import { z } from 'zod';
import { namedSchemas } from '../platform/schemas.ts';

const addressPrefix = '#/components/schemas/';
const addressOf = (id: string): string => `${addressPrefix}${id}`;

/** A reference to a named schema; throws for one without a name. */
export function refTo(schema: z.ZodType): { $ref: string } {
  const id = namedSchemas.get(schema)?.id;
  if (id === undefined) throw new Error('a body that is described needs a named schema');
  return { $ref: addressOf(id) };
}

/** The named schemas that `described` refers to, and those that they refer to, in alphabetical order. */
export function componentSchemas(described: object): Record<string, object> {
  // The input side is what a caller writes. Answers have no transforms, so for them both sides are one.
  const { schemas } = z.toJSONSchema(namedSchemas, { io: 'input', uri: addressOf, override: dropSafeBounds });
  const used = new Map<string, object>();
  const follow = (value: object): void => {
    for (const [, id = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      const { $schema: _dialect, $id: _address, ...schema } = schemas[id] ?? {};
      if (used.has(id)) continue;
      used.set(id, schema);
      follow(schema);
    }
  };
  follow(described);
  return Object.fromEntries([...used].sort(([a], [b]) => (a < b ? -1 : 1)));
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

// zod adds these to every integer. They hold for any JSON number that a program reads exactly.
function dropSafeBounds({ jsonSchema }: { jsonSchema: { minimum?: number; maximum?: number } }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}
