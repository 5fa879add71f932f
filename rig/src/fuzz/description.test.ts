import { describe, expect, it } from 'vitest';
import { readDescription } from './description.ts';

const document = {
  paths: {
    '/v1/things/{id}': {
      get: {
        operationId: 'getThing',
        responses: {
          200: {
            headers: { 'x-request-id': { required: true } },
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
          },
          400: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } },
        },
      },
    },
  },
  components: {
    schemas: {
      Thing: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false },
      Error: { type: 'object', properties: { request_id: { type: 'string' }, issues: { type: 'array' } } },
    },
  },
};
const description = readDescription(JSON.stringify(document));
const [operation] = description.operations;

const judge = (status: number, body: unknown, headers: Record<string, string> = { 'x-request-id': 'req_1' }) =>
  operation &&
  description.judge(operation, {
    status,
    headers: new Headers({ 'content-type': 'application/json', ...headers }),
    text: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe('R-75 an answer', () => {
  it('passes when the description promises it', () => {
    expect(judge(200, { id: 'x' })).toBeNull();
    expect(judge(400, { request_id: 'req_1', issues: [{}] })).toBeNull();
  });

  it.each([
    ['a fault', judge(500, {}), /answers 500/],
    ['a status that is not described', judge(404, {}), /404, which is not described/],
    ['a header less', judge(200, { id: 'x' }, {}), /without the header x-request-id/],
    ['a field more', judge(200, { id: 'x', secret: 1 }), /does not fit its schema/],
    ['a field less', judge(200, {}), /does not fit its schema at id/],
    ['another type', judge(200, { id: 1 }), /does not fit its schema at id/],
    ['no JSON', judge(200, 'x'), /not JSON/],
    ['another request id', judge(400, { request_id: 'req_2', issues: [{}] }), /request_id/],
    ['a 400 that does not say why', judge(400, { request_id: 'req_1', issues: [] }), /issues/],
  ])('fails with %s', (_what, found, rule) => {
    expect(found).toMatch(rule);
  });
});
