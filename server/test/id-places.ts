// Lists every place of an API that takes an id, from the API's description: fields of paths,
// queries, headers and bodies that name something of an app. A new route or field with an id adds a
// place.
import { readFileSync } from 'node:fs';

export interface IdPlace {
  /** As in the route table: `GET /v1/messages/:id`. */
  readonly route: string;
  /** `path id`, `query cursor`, `header Idempotency-Key`, `body audience.device_ids`. */
  readonly place: string;
}

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const isIdName = (name: string): boolean => /(?:^|_)ids?$|^token$|^cursor$/.test(name);

export interface IdPlaceOptions {
  /** The API's description, in `docs/`. */
  readonly description: 'openapi.json' | 'console-openapi.json';
  /** Parameters of queries that take an id beside other texts, such as a search. */
  readonly searches?: readonly string[];
}

export function listIdPlaces({ description, searches = [] }: IdPlaceOptions): IdPlace[] {
  const text = readFileSync(new URL(`../../docs/${description}`, import.meta.url), 'utf8');
  const { paths, components } = JSON.parse(text) as Description;
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { parameters = [], requestBody }]) => {
      const route = `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
      const named = parameters
        .filter(({ in: part, name }) => part !== 'query' || isIdName(name) || searches.includes(name))
        .map((parameter) => `${parameter.in} ${parameter.name}`);
      const body = requestBody?.content['application/json']?.schema;
      const fields = body ? [...new Set(fieldsOf(body, components.schemas, '', new Set()))] : [];
      return [...named, ...fields.map((field) => `body ${field}`)].map((place) => ({ route, place }));
    }),
  );
}

function* fieldsOf(
  schema: Schema,
  schemas: Description['components']['schemas'],
  path: string,
  /** References on the way here, because a filter contains filters. */
  above: ReadonlySet<string>,
): Generator<string> {
  const { $ref, properties = {}, items, anyOf = [], oneOf = [], allOf = [] } = schema;
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf('/') + 1);
    const referred = schemas[name];
    if (referred && !above.has(name)) yield* fieldsOf(referred, schemas, path, new Set([...above, name]));
  }
  for (const [name, field] of Object.entries(properties)) {
    const place = path === '' ? name : `${path}.${name}`;
    if (isIdName(name)) yield place;
    else yield* fieldsOf(field, schemas, place, above);
  }
  if (items) yield* fieldsOf(items, schemas, `${path}[]`, above);
  for (const either of [...anyOf, ...oneOf, ...allOf]) yield* fieldsOf(either, schemas, path, above);
}
