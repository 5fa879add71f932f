// Schemas from which rooms build requests and answers, and the names under which the API's
// description shows them. The answer schemas are closed, so that tests can check real answers
// against them.
import { z } from 'zod';
import type { IdPrefix } from '../ground/ids.ts';
import { issueOf } from '../ground/issue.ts';

/** Every schema with a name, for the description of the API. */
export const namedSchemas = z.registry<{ id: string }>();

/** Gives a schema a name, by which a description refers to it everywhere. */
export function component<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  namedSchemas.add(schema, { id });
  return schema;
}

/** Whether clients would take the text in a path for a step to another path, and never send it. */
export function isPathStep(text: unknown): boolean {
  return text === '.' || text === '..';
}

export const pathStepProblem = "'.' and '..' are no names: clients turn them into another path.";

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
