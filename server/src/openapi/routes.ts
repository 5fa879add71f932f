// GET /openapi.json: the public description of the API.
import { z } from 'zod';
import { routesWith } from '../http/route.ts';
import { component } from '../http/schemas.ts';
import { Answer } from '../http/server.ts';

export interface OpenapiRouteDeps {
  /** The document's bytes, written once. */
  readonly describe: () => Buffer;
}

const route = routesWith<OpenapiRouteDeps, unknown>('Service');

export const openapiRoutes = [
  route({
    id: 'getDescription',
    method: 'GET',
    path: '/openapi.json',
    access: 'public',
    summary: 'This description',
    answers: {
      200: {
        description: 'OpenAPI 3.1.',
        schema: component('Description', z.looseObject({ openapi: z.string() })),
        example: { openapi: '3.1.0' },
      },
    },
  }).handle(async ({ describe }) => {
    return new Answer(200, { 'content-type': 'application/json; charset=utf-8' }, describe());
  }),
];
