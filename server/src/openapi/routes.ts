// GET /openapi.json: the public description of the API.
import { z } from 'zod';
import { routesWith } from '../http/route.ts';
import { component } from '../http/schemas.ts';
import { Answer } from '../http/server.ts';

export interface OpenapiRouteDeps {
  /** The document's bytes, written once. */
  readonly describe: () => Buffer;
  /** The bytes of the console API's document. */
  readonly describeConsole: () => Buffer;
}

const contentType = { 'content-type': 'application/json; charset=utf-8' };
const description = component('Description', z.looseObject({ openapi: z.string() }));

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
        schema: description,
        example: { openapi: '3.1.0' },
      },
    },
  }).handle(async ({ describe }) => {
    return new Answer(200, contentType, describe());
  }),
  route({
    id: 'getConsoleDescription',
    method: 'GET',
    path: '/console-openapi.json',
    access: 'public',
    summary: "The description of the console's API, which operators' scripts call",
    answers: { 200: { description: 'OpenAPI 3.1.', schema: description, example: { openapi: '3.1.0' } } },
  }).handle(async ({ describeConsole }) => {
    return new Answer(200, contentType, describeConsole());
  }),
];
