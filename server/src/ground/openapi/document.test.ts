import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ok, routesWith } from '../http/route.ts';
import { component, deviceId } from '../http/schemas.ts';
import { type Api, writeDocument } from './document.ts';
import { refusalsOfV1 } from './refusals.ts';

const cookie = { session: [] };
const api: Api = {
  info: { title: 'Console', version: '1' },
  servers: [{ url: '/' }],
  securitySchemes: { session: { type: 'apiKey', in: 'cookie', name: 'session' } },
  access: { server: { security: [cookie], refusals: ['missing_key'] }, public: { security: [], refusals: [] } },
  refusals: refusalsOfV1,
  headers: {},
  counted: {},
};
const route = routesWith<object, object>({ tag: 'Devices', access: 'server' });
const named = component('NamedDevice', z.strictObject({ id: deviceId }), { id: 'dev_1' });
const rename = route('renameDevice', 'PUT /console/api/apps/:app/devices/:id', {
  summary: 'Give a device a name',
  params: {
    app: { description: 'An app.', example: 'app_1' },
    id: { description: 'A device.', example: 'dev_1' },
  },
  query: z.strictObject({ notify: z.enum(['yes', 'no']).optional() }),
  body: named,
  answers: ok('The device.', named),
}).handle(async (_deps, { body }) => body);

describe('a document', () => {
  it('is written of any API, and has its own paths, schemas, errors and security alone', () => {
    const document = JSON.parse(writeDocument(api, [rename]));
    expect(Object.keys(document.paths)).toEqual(['/console/api/apps/{app}/devices/{id}']);
    const { put } = document.paths['/console/api/apps/{app}/devices/{id}'];
    expect(put).toMatchObject({ operationId: 'renameDevice', tags: ['Devices'], security: [cookie] });
    expect(put.parameters.map(({ in: place, name }: { in: string; name: string }) => `${place} ${name}`)).toEqual([
      'path app',
      'path id',
      'query notify',
    ]);
    expect(Object.keys(put.responses)).toEqual(['200', '400', '401', '404', '500']);
    expect(Object.keys(document.components.responses)).toEqual([
      'BadRequest',
      'Unauthorized',
      'NotFound',
      'InternalError',
    ]);
    expect(Object.keys(document.components.schemas)).toEqual([
      'BadRequestError',
      'DeviceId',
      'InternalErrorError',
      'Issue',
      'IssueCode',
      'NamedDevice',
      'NotFoundError',
      'RequestId',
      'UnauthorizedError',
    ]);
    expect(JSON.stringify(document)).not.toMatch(/ratelimit|clientKey|\/v1\//);
  });

  it('is refused for a route whose access the API does not know', () => {
    const { public: open } = api.access;
    expect(() => writeDocument({ ...api, access: { ...(open && { public: open }) } }, [rename])).toThrow(
      'renameDevice has an access that its API does not know: server',
    );
  });
});
