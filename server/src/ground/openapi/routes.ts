// GET /openapi.json: the public description of the API.
import { z } from 'zod';
import { ok, routesWith } from '../http/route.ts';
import { component } from '../http/schemas.ts';
import { Answer } from '../http/server.ts';

export interface OpenapiRouteDeps {
  /** The document's bytes, written once. */
  readonly describe: () => Buffer;
  /** The bytes of the console API's document. */
  readonly describeConsole: () => Buffer;
}

const contentType = { 'content-type': 'application/json; charset=utf-8' };
const description = component('Description', z.looseObject({ openapi: z.string() }), { openapi: '3.1.0' });

const route = routesWith<OpenapiRouteDeps, unknown>({ tag: 'Service', access: 'public' });

export const openapiRoutes = [
  route('getDescription', 'GET /openapi.json', {
    summary: 'This description',
    answers: ok('OpenAPI 3.1.', description),
  }).handle(async ({ describe }) => {
    return new Answer(200, contentType, describe());
  }),
  route('getConsoleDescription', 'GET /console-openapi.json', {
    summary: "The description of the console's API, which operators' scripts call",
    answers: ok('OpenAPI 3.1.', description),
  }).handle(async ({ describeConsole }) => {
    return new Answer(200, contentType, describeConsole());
  }),
];
