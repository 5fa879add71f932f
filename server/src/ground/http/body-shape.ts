// Reads from a route's schema where its body may hold objects and lists. The scan of a body drops
// objects and lists that stand elsewhere, before the body is parsed.
import { z } from 'zod';
import { schemasByName } from './schemas.ts';

export interface BodyShape {
  /** True where any JSON may stand. The other fields mean nothing then. */
  readonly isAny: boolean;
  /** The members of an object by name; null: no object may stand here. */
  readonly members: ReadonlyMap<string, BodyShape> | null;
  /** Members of other names; null: there are none. */
  readonly others: BodyShape | null;
  /** The items of a list; null: no list may stand here. */
  readonly items: BodyShape | null;
  readonly itemsMax: number;
}

type Draft = { -readonly [Key in keyof BodyShape]: BodyShape[Key] };

export interface JsonSchema {
  readonly $ref?: string;
  /** The name of the schema whose shape this place has, if the description is less exact. */
  readonly shape?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema;
  readonly maxItems?: number;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/** The place of a text, a number or a boolean. */
export const scalar: BodyShape = { isAny: false, members: null, others: null, items: null, itemsMax: 0 };
/** The shape of a body that has no schema. */
export const anyShape: BodyShape = { ...scalar, isAny: true };

const scalarTypes = new Set(['string', 'number', 'integer', 'boolean', 'null']);

/** Schemas by the reference that names them in one description. */
type Defs = ReadonlyMap<string, JsonSchema>;

/** The shape of the bodies that a schema describes: as wide as the schema, or wider. */
export function shapeOf(schema: z.ZodType): BodyShape {
  // Schemas that contain themselves are read once. By schema or its description.
  const known = new Map<object, Draft>();

  const read = (json: JsonSchema, defs: Defs, into: Draft): Draft => {
    const ref = json.shape ?? json.$ref;
    if (ref !== undefined) return follow(ref, defs, into);
    const choices = json.anyOf ?? json.oneOf;
    // A description may state alternatives twice: in its properties, and more narrowly in `oneOf`.
    if (choices && !json.properties) {
      const [first, ...others] = choices.filter(
        ({ type = '?' }) => ![type].flat().every((one) => scalarTypes.has(one)),
      );
      if (first && others.length === 0) return read(first, defs, into);
      for (const choice of choices) {
        if (read(choice, defs, into) !== into) into.isAny = true;
      }
    } else readTypes(json, defs, into);
    return into;
  };

  const readTypes = ({ type, properties = {}, ...json }: JsonSchema, defs: Defs, into: Draft): void => {
    if (type === undefined) {
      into.isAny ||= json.enum === undefined && json.const === undefined;
      return;
    }
    const types = [type].flat();
    if (types.includes('object')) {
      const members = new Map(into.members ?? []);
      for (const [name, member] of Object.entries(properties)) {
        const before = members.get(name);
        members.set(name, before ? anyShape : read(member, defs, { ...scalar }));
      }
      into.members = members;
      const { additionalProperties: others = true } = json;
      if (typeof others === 'object') into.others = into.others ? anyShape : read(others, defs, { ...scalar });
      else if (others) into.others = anyShape;
    }
    if (types.includes('array')) {
      into.itemsMax = into.items || json.maxItems === undefined ? Number.POSITIVE_INFINITY : json.maxItems;
      into.items = into.items || !json.items ? anyShape : read(json.items, defs, { ...scalar });
    }
  };

  const follow = (ref: string, defs: Defs, into: Draft): Draft => {
    const component = schemasByName.get(ref);
    const target = component ?? defs.get(ref);
    if (!target) return Object.assign(into, anyShape);
    const before = known.get(target);
    if (before) return before;
    known.set(target, into);
    return component ? readAll(component, into) : read(target as JsonSchema, defs, into);
  };

  const readAll = (described: z.ZodType, into: Draft): Draft => {
    const json = jsonSchemaOf(described);
    known.set(json, into);
    const defs = Object.entries(json.$defs ?? {}).map(([name, def]) => [`#/$defs/${name}`, def] as const);
    return read(json, new Map([['#', json], ...defs]), into);
  };

  return readAll(schema, { ...scalar });
}

/** Describes by JSON Schema the values that a schema accepts. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as unknown as JsonSchema;
}
