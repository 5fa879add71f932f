// Writes zod's schemas as JSON Schema, for the places where a description has them:
// `components.schemas`, references and parameters.
import { z } from 'zod';
import { namedSchemas } from '../http/schemas.ts';

const addressPrefix = '#/components/schemas/';
const addressOf = (id: string): string => `${addressPrefix}${id}`;

/** Returns a reference to a named schema. Throws for a schema without a name. */
export function refTo(schema: z.ZodType): { $ref: string } {
  const id = namedSchemas.get(schema)?.id;
  if (id === undefined) throw new Error('a body that is described needs a named schema');
  return { $ref: addressOf(id) };
}

/**
 * Returns the named schemas that `described` refers to, directly or through another schema, in
 * alphabetical order.
 */
export function componentSchemas(described: object): Record<string, object> {
  // Describes the input of a schema, which a caller writes. Schemas of answers have no transforms,
  // so their input equals their output.
  const { schemas } = z.toJSONSchema(namedSchemas, { io: 'input', uri: addressOf, override: dropUnsaid });
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

/**
 * Returns the fields of a query as parameters. The output of their schemas gives the type that the
 * text stands for: `limit` is a number.
 */
export function queryParameters(query: z.ZodObject): object[] {
  const { properties = {} } = z.toJSONSchema(query, { io: 'output', override: dropUnsaid });
  return Object.entries(query.shape).map(([name, field]) => ({
    name,
    in: 'query',
    required: !field.safeParse(undefined).success,
    schema: properties[name],
  }));
}

// zod adds these bounds to every integer. They say nothing, because every JSON number that a
// program reads exactly is within them.
function dropUnsaid({ jsonSchema }: { jsonSchema: { minimum?: number; maximum?: number; shape?: unknown } }): void {
  // For the scan of bodies (`http/body-shape.ts`).
  delete jsonSchema.shape;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}
