// Leaves values out of an answer whose caller has too low a role for them (contract 19). The schema
// of the answer says which field stands where. Hidden fields are absent, so that null and an empty
// list still mean that there is no value.
import { z } from 'zod';
import type { Route } from '../../ground/http/route.ts';
import { stored, storedFields } from '../../ground/http/schemas.ts';
import { Answer } from '../../ground/http/server.ts';
import { isRecord } from '../../ground/values/is-record.ts';
import { isAtLeast, type Role } from '../../teams/accounts/roles.ts';
import type { ConsoleCaller } from './caller.ts';
import { leastRoleOf } from './field-roles.ts';

/** A part of an answer that a caller below the field's least role does not get. */
export function hideable<Schema extends z.ZodType>(field: string, schema: Schema) {
  const words = [schema.description, `Left out for roles below ${leastRoleOf(field)}.`];
  return stored(field, schema.optional().describe(words.filter(Boolean).join(' ')));
}

/**
 * Hides values in the answers of a route. Throws for a stream with values to hide, because its
 * events go to readers of several roles.
 */
export function hideValues<Deps, Caller extends ConsoleCaller>(route: Route<Deps, Caller>): Route<Deps, Caller> {
  const { schema, isStream } = route.answers[200] ?? {};
  const leastRoles = schema ? [...fieldsOf(schema)].map(leastRoleOf) : [];
  if (!schema || leastRoles.length === 0) return route;
  if (isStream) throw new Error(`${route.id} is a stream and cannot hide values`);
  return {
    ...route,
    async answer(deps, request) {
      const { role } = request.caller;
      const answer = await route.answer(deps, request);
      if (leastRoles.every((least) => isAtLeast(role, least))) return answer;
      if (answer instanceof Answer) throw new Error(`${route.id} answered a text, in which no value can be hidden`);
      return without(schema, role, answer) as object;
    },
  };
}

/** Returns what a schema consists of, one level down. */
function partsOf(schema: z.ZodType): readonly z.ZodType[] {
  // zod types the parts as its core's schemas, which have no methods.
  const parts = (found: readonly z.core.$ZodType[]): readonly z.ZodType[] => found as readonly z.ZodType[];
  if (schema instanceof z.ZodObject) return parts(Object.values(schema.shape));
  if (schema instanceof z.ZodArray) return parts([schema.element]);
  if (schema instanceof z.ZodRecord) return parts([schema.valueType]);
  if (schema instanceof z.ZodUnion) return parts(schema.options);
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional || schema instanceof z.ZodLazy) {
    return parts([schema.unwrap()]);
  }
  return [];
}

function fieldsOf(schema: z.ZodType, found = new Set<string>(), seen = new Set<z.ZodType>()): Set<string> {
  if (seen.has(schema)) return found;
  seen.add(schema);
  const field = storedFields.get(schema);
  if (field !== undefined) found.add(field);
  for (const part of partsOf(schema)) fieldsOf(part, found, seen);
  return found;
}

/** Copies a value without the fields that the role may not see. */
function without(schema: z.ZodType, role: Role, value: unknown): unknown {
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((item) => without(schema.element as z.ZodType, role, item));
  }
  if (schema instanceof z.ZodRecord && isRecord(value)) {
    return mapValues(value, (_name, each) => without(schema.valueType as z.ZodType, role, each));
  }
  if (schema instanceof z.ZodObject && isRecord(value)) {
    const shape: Readonly<Record<string, z.ZodType>> = schema.shape;
    return mapValues(value, (name, each) => {
      const part = shape[name];
      const field = part && storedFields.get(part);
      if (field !== undefined && !isAtLeast(role, leastRoleOf(field))) return undefined;
      return part ? without(part, role, each) : each;
    });
  }
  // Each option of a union removes the fields that it describes.
  return partsOf(schema).reduce((left, part) => without(part, role, left), value);
}

function mapValues(value: Record<string, unknown>, change: (name: string, each: unknown) => unknown) {
  const changed = Object.entries(value).map(([name, each]) => [name, change(name, each)] as const);
  return Object.fromEntries(changed.filter(([, each]) => each !== undefined));
}
