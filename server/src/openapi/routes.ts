// GET /openapi.json: the description of the API, public.
import { Answer, type Route } from '../platform/http-server.ts';
import { noQuery, validate } from '../platform/validate.ts';
import { openapiText } from './document.ts';

export function openapiRoutes<Caller>(): Route<Caller>[] {
  let answer: Answer | undefined;
  return [
    {
      method: 'GET',
      path: '/openapi.json',
      access: 'public',
      async handle({ query }) {
        validate(noQuery, query);
        answer ??= new Answer(200, { 'content-type': 'application/json; charset=utf-8' }, Buffer.from(openapiText()));
        return answer;
      },
    },
  ];
}
