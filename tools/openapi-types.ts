// Writes TypeScript from an OpenAPI document: a type for each named schema, and for each endpoint
// its input and its answer. It knows only the JSON Schema keywords that our document uses and
// throws at any other, so that no type is a guess. Pure.

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly description?: string;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
  readonly description?: string;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

interface Endpoint {
  readonly operationId: string;
  readonly summary?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, Content>>;
}

export interface OpenapiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Endpoint>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Keywords that bound values and do not affect the type. */
const bounds = [
  ...['description', 'format', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum'],
  ...['exclusiveMaximum', 'multipleOf', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'propertyNames'],
  ...['default', 'examples', 'example', 'title', 'deprecated', 'uniqueItems'],
];
const known = [
  ...['$ref', 'type', 'const', 'enum', 'anyOf', 'oneOf', 'items', 'properties', 'required', 'additionalProperties'],
  ...bounds,
];

/** The text of the whole file, with the endpoints that `isCalled` admits. */
export function writeTypes(
  { paths, components }: OpenapiDocument,
  isCalled: (path: string, endpoint: Endpoint) => boolean = () => true,
): string {
  const types = Object.entries(components.schemas).map(
    ([name, schema]) => `${comment(schema.description, '')}export type ${name} = ${typeOf(schema, '')};\n`,
  );
  const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, endpoint]) =>
      isCalled(path, endpoint) ? [{ path, method, endpoint }] : [],
    ),
  );
  const signatures = endpoints.map(
    ({ endpoint }) =>
      `${comment(endpoint.summary, '  ')}  ${endpoint.operationId}: { given: ${givenTo(endpoint)}; answer: ${answerOf(endpoint)} };\n`,
  );
  const addresses = endpoints.map(
    ({ endpoint, method, path }) =>
      `  ${endpoint.operationId}: { method: '${method.toUpperCase()}', path: '${path}' },\n`,
  );
  return [
    '// Written by tools/api-types.ts from the description of the API. Never edited by hand.\n',
    ...types,
    '/** The request and the answers of each endpoint, by its `operationId`. */',
    `export interface Operations {\n${signatures.join('')}}\n`,
    '/** The method and the path of each endpoint. */',
    `export const operations = {\n${addresses.join('')}} as const;\n`,
  ].join('\n');
}

/** Redirects and an operator's probes do not. */
export function answersJson({ responses }: Endpoint): boolean {
  return jsonOf(responses['200']) !== undefined;
}

function jsonOf(content: Content | undefined): Schema | undefined {
  return content?.content?.['application/json']?.schema;
}

function answerOf({ responses }: Endpoint): string {
  const schema = jsonOf(responses['200']);
  return schema ? typeOf(schema, '  ') : 'unknown';
}

function givenTo({ parameters = [], requestBody }: Endpoint): string {
  const named = (place: string): string | undefined => {
    const fields = parameters.filter((parameter) => parameter.in === place);
    if (fields.length === 0) return undefined;
    const isOptional = fields.every(({ required }) => !required);
    const shape = fields.map(({ name, required, schema }) => field(name, required === true, typeOf(schema, '  ')));
    return `${place === 'path' ? 'params' : place}${isOptional ? '?' : ''}: { ${shape.join('; ')} }${isOptional ? ' | undefined' : ''}`;
  };
  const schema = jsonOf(requestBody);
  const body = schema && `body${requestBody?.required ? '' : '?'}: ${typeOf(schema, '  ')}`;
  const parts = [named('path'), named('query'), body].filter((part) => part !== undefined);
  return parts.length === 0 ? 'object' : `{ ${parts.join('; ')} }`;
}

function typeOf(schema: Schema, indent: string): string {
  const strange = Object.keys(schema).filter((keyword) => !known.includes(keyword));
  if (strange.length > 0) throw new Error(`no type is known for a schema with ${strange.join(', ')}`);
  if (schema.$ref !== undefined) return schema.$ref.replace('#/components/schemas/', '');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  if (schema.oneOf && schema.properties) return union(choicesOf(schema, schema.oneOf, indent));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return union(choices.map((choice) => typeOf(choice, indent)));
  if (Array.isArray(schema.type)) {
    return union(schema.type.map((type: string) => typeOf({ ...schema, type }, indent)));
  }
  switch (schema.type) {
    case 'object':
      return objectType(schema, indent);
    case 'array':
      return schema.items ? `readonly ${inArray(typeOf(schema.items, indent))}[]` : 'readonly unknown[]';
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case undefined:
      return 'unknown';
    default:
      throw new Error(`no type is known for ${String(schema.type)}`);
  }
}

// Exactly one of several fields: each choice has its own field, and allows the others only as null,
// which means absent.
function choicesOf(schema: Schema, choices: readonly Schema[], indent: string): string[] {
  const alone = new Set(choices.flatMap(({ required = [] }) => required));
  return choices.map(({ required = [] }) => {
    const fields = Object.entries(schema.properties ?? {}).map(([name, value]) => {
      if (!alone.has(name)) return field(name, schema.required?.includes(name) === true, typeOf(value, indent));
      return required.includes(name)
        ? field(name, true, withoutNull(typeOf(value, indent)))
        : field(name, false, 'null');
    });
    return `{ ${fields.join('; ')} }`;
  });
}

function withoutNull(type: string): string {
  return type.replace(/ \| null$/, '');
}

function objectType({ properties, required = [], additionalProperties }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const fields = Object.entries(properties ?? {}).map(
    ([name, schema]) =>
      `${comment(schema.description, inner)}${inner}${field(name, required.includes(name), typeOf(schema, inner))};\n`,
  );
  const isOpen = typeof additionalProperties === 'object';
  if (fields.length === 0) {
    // Any object: a value with a type of its own fits, too.
    return isOpen ? `{ readonly [key: string]: ${typeOf(additionalProperties, indent)} }` : 'object';
  }
  if (isOpen) fields.push(`${inner}readonly [key: string]: ${typeOf(additionalProperties, inner)};\n`);
  return `{\n${fields.join('')}${indent}}`;
}

function field(name: string, isRequired: boolean, type: string): string {
  const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
  return `readonly ${key}${isRequired ? '' : '?'}: ${type}${isRequired ? '' : ' | undefined'}`;
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ');
}

function inArray(type: string): string {
  return /[|&]|^readonly /.test(type) ? `(${type})` : type;
}

function comment(text: string | undefined, indent: string): string {
  return text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/').replaceAll(/\s+/g, ' ')} */\n`;
}
