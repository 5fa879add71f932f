// Writes a whole API as an OpenAPI 3.1 document from its routes. Knows no particular API.
import { componentSchemas } from './json-schema.ts';
import { type ApiTerms, type DescribedRoute, pathOf, refusalsOfRoute, writeOperation } from './operation.ts';
import { commonHeaders, componentResponses } from './refusals.ts';

export interface Api extends ApiTerms {
  readonly info: object;
  readonly servers: readonly object[];
  readonly securitySchemes: Readonly<Record<string, object>>;
  /** Headers that `counted` refers to, for `components.headers`. */
  readonly headers: Readonly<Record<string, object>>;
}

/**
 * Writes the document that is served and committed. Tags and paths stand in the order of the
 * routes.
 */
export function writeDocument(api: Api, routes: readonly DescribedRoute[]): string {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = pathOf(route);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: writeOperation(route, api) };
  }
  const refusals = new Set(routes.flatMap((route) => refusalsOfRoute(route, api)));
  const headers = { ...commonHeaders, ...api.headers };
  const responses = componentResponses(api.refusals, refusals, api.counted);
  const document = {
    openapi: '3.1.0',
    info: api.info,
    servers: api.servers,
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: api.securitySchemes,
      headers,
      responses,
      schemas: componentSchemas({ paths, headers, responses }),
    },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
