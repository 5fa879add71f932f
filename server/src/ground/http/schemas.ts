// Schemas from which rooms build requests and answers, and the names under which the API's
// description shows them. The answer schemas are closed, so that tests can check real answers
// against them.
import { z } from 'zod';
import type { IdPrefix } from '../values/ids.ts';
import { issueOf, issuesMax } from '../values/issue.ts';
import { isOneLine } from '../values/one-line.ts';

/** Every schema with a name, for the description of the API. */
export const namedSchemas = z.registry<{ id: string }>();

/** The same schemas by name. */
export const schemasByName = new Map<string, z.ZodType>();

/** A value as a handler may return it, or as an example shows it. Nobody changes it afterwards. */
export type Shown<Value> = Value extends Date
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly Shown<Item>[]
    : Value extends object
      ? { readonly [Key in keyof Value]: Shown<Value[Key]> }
      : Value;

const examples = new WeakMap<z.ZodType, unknown>();

/**
 * Gives a schema a name, by which a description refers to it everywhere. The body of a request or
 * of an answer also has an example.
 */
export function component<Schema extends z.ZodType>(
  id: string,
  schema: Schema,
  example?: Shown<NoInfer<z.input<Schema>>>,
): Schema {
  namedSchemas.add(schema, { id });
  schemasByName.set(id, schema);
  if (example !== undefined) examples.set(schema, example);
  return schema;
}

/** Returns the example of a component. Throws for one without. */
export function exampleOf<Schema extends z.ZodType>(schema: Schema): Shown<z.input<Schema>> {
  const example = examples.get(schema) as Shown<z.input<Schema>> | undefined;
  if (example === undefined) throw new Error(`${namedSchemas.get(schema)?.id} has no example`);
  return example;
}

/** Schemas of what the database stores, with `table.column`, or a part of such a document. */
export const storedFields = new WeakMap<z.ZodType, string>();

/**
 * Declares which stored field a part of an answer shows, so that an API can hide the part from
 * roles.
 */
export function stored<Schema extends z.ZodType>(field: string, schema: Schema): Schema {
  storedFields.set(schema, field);
  return schema;
}

/** Whether clients would resolve the text in a path (`.` and `..`), so that it never arrives. */
export function isPathStep(text: unknown): boolean {
  return text === '.' || text === '..';
}

export const pathStepProblem = "'.' and '..' are no names: clients turn them into another path.";

/**
 * A text of bounded length. zod counts code points, and contract 1 counts UTF-16 code units, of which
 * an emoji has two or more. With `abort` no other check looks at a text that is too long.
 */
export function text(lengthMax: number, lengthMin = 0, { abort = false } = {}): z.ZodString {
  const bounded = (lengthMin === 0 ? z.string() : z.string().min(lengthMin)).max(lengthMax, { abort });
  return bounded.check(({ value, issues }) => {
    if (value.length <= lengthMax || issues.some(({ code }) => code === 'too_big')) return;
    const [origin, inclusive] = ['string', true] as const;
    issues.push({ code: 'too_big', origin, inclusive, maximum: lengthMax, input: value, continue: !abort });
  });
}

/** A name for people, which cannot pass for another one in a list. */
export function shownName(name: z.ZodString) {
  return name.refine(isOneLine, shownNameProblem);
}

export const shownNameProblem = 'A name is one line of text, without characters that cannot be seen.';

/** A new name that can stand in a path. */
export function pathName(name: z.ZodString) {
  return name.superRefine((text, ctx) => {
    if (isPathStep(text)) {
      ctx.issues.push({
        ...issueOf({ path: [], code: 'invalid_value', message: pathStepProblem }, text),
        continue: true,
      });
    }
  });
}

/**
 * The class of `list`. It is a subclass, because zod makes a copy when a check or a description is
 * added.
 */
const List = z.core.$constructor<z.ZodArray>('List', (schema, definition) => {
  z.ZodArray.init(schema, definition);
  schema._zod.parse = (payload, context) => {
    const given: unknown = payload.value;
    if (!Array.isArray(given)) {
      payload.issues.push({ code: 'invalid_type', expected: 'array', input: given, inst: schema });
      return payload;
    }
    // Adds no issue here, because the check of the length adds it.
    if (given.length > Number(schema._zod.bag['maximum'])) return payload;
    const items: unknown[] = [];
    for (const [i, value] of given.entries()) {
      if (payload.issues.length >= issuesMax) break;
      const read = definition.element._zod.run({ value, issues: [] }, context);
      if (read instanceof Promise) throw new z.core.$ZodAsyncError();
      payload.issues.push(...z.core.util.prefixIssues(i, read.issues));
      items.push(read.value);
    }
    payload.value = items;
    return payload;
  };
});

/**
 * A list in a request. Its length is judged before its items, and the check of its items stops at
 * the 50th issue (contract 1). zod alone would make an issue of each of a million items.
 */
export function list<Item extends z.ZodType>(item: Item, { least = 0, most }: { least?: number; most: number }) {
  const schema = (new List({ type: 'array', element: item }) as z.ZodArray<Item>).max(most);
  return least === 0 ? schema : schema.min(least);
}

/** An instant that a handler answers as text. */
export const instantText: z.ZodType<string> = component(
  'Instant',
  z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
    .meta({ format: 'date-time', description: 'ISO-8601 in UTC, to the millisecond.' }),
);
const orDate = (text: z.ZodType<Date | string>): z.ZodType<Date | string> => text;
/** The same instant as a handler usually answers it: a Date, which is written as that text. */
export const instant = orDate(instantText);

export function idSchema(prefix: IdPrefix) {
  return z.string().regex(new RegExp(`^${prefix}_[0-9A-Za-z]{22}$`));
}

export const messageId = component('MessageId', idSchema('msg'));
export const deviceId = component('DeviceId', idSchema('dev'));
export const userId = component('UserId', idSchema('usr'));
export const segmentId = component('SegmentId', idSchema('seg'));
export const keyId = component('KeyId', idSchema('key'));

export const count = z.int().min(0);

export const pageEnd = {
  has_more: z.boolean(),
  next_cursor: z
    .string()
    .nullable()
    .describe('Null exactly when there is no more. A page may be empty and still have a next one.'),
};

/** The fields of a page (contract 17). */
export function pageFields<Item extends z.ZodType>(item: Item) {
  return { data: z.array(item), ...pageEnd };
}

/** The last page, for examples. */
export const lastPage = { has_more: false, next_cursor: null };

/** A component that is a page of `item`, with its example. */
export function pageComponent<Item extends z.ZodType>(id: string, item: Item) {
  const page = component(id, z.strictObject(pageFields(item)));
  examples.set(page, { data: [exampleOf(item)], ...lastPage });
  return page;
}
