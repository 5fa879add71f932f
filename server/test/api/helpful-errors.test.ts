// Answers help the person who reads them: which thing was not found, where a body is wrong, and
// which field.
import { describe, expect, it } from 'vitest';
import { exchange } from '../raw-http.ts';
import { setup, unknownId } from '../setup.ts';

const t = await setup({ workers: false });
const headers = { 'content-type': 'application/json' };
const send = (raw: string) => t.request('POST', '/v1/messages', { key: t.app.serverKey, raw, headers });

describe('404', () => {
  const message = unknownId('msg');
  const device = unknownId('dev');
  const segment = unknownId('seg');

  it.each([
    ['GET', `/v1/messages/${message}`, undefined, `No message ${message} in this app.`],
    ['GET', '/v1/messages/msg_none', undefined, 'No message msg_none in this app.'],
    ['POST', `/v1/messages/${message}/cancel`, undefined, `No message ${message} in this app.`],
    ['GET', `/v1/messages/${message}/deliveries`, undefined, `No message ${message} in this app.`],
    ['DELETE', `/v1/devices/${device}`, undefined, `No device ${device} in this app.`],
    ['GET', '/v1/users/nobody', undefined, 'No user nobody in this app.'],
    ['DELETE', '/v1/users/nobody', undefined, 'No user nobody in this app.'],
    ['GET', `/v1/segments/${segment}`, undefined, `No segment ${segment} in this app.`],
    ['DELETE', `/v1/segments/${segment}`, undefined, `No segment ${segment} in this app.`],
    ['POST', '/v1/users', { external_id: 'u-42', device_id: device }, `No device ${device} in this app.`],
    ['POST', '/v1/identify', { external_id: 'u-42', device_id: 'dev_none' }, 'No device dev_none in this app.'],
    [
      'POST',
      '/v1/messages',
      { audience: { segment_id: segment }, content: { title: 'Sale' } },
      `No segment ${segment} in this app.`,
    ],
    [
      'POST',
      '/v1/events',
      { name: 'article_read', device_id: device },
      'An event names a device that is not in this app.',
    ],
  ])('%s %s names what was not found', async (method, path, body, told) => {
    const answer = await t.request(method, path, { key: t.app.serverKey, ...(body && { body }) });
    expect(answer).toMatchObject({ status: 404, body: { error: 'not_found', message: told } });
  });

  it('a name of any length is cut, and never inside a surrogate pair', async () => {
    const { body } = await t.server.get(`/v1/users/${encodeURIComponent(`${'x'.repeat(79)}🔔${'y'.repeat(90)}`)}`);
    expect(body.message).toBe(`No user ${'x'.repeat(79)}\uFFFD… in this app.`);
  });

  it.each([
    ['DELETE', '/v1/messages', 'This path takes POST, GET, and no DELETE.'],
    ['PUT', `/v1/messages/${message}/cancel`, 'This path takes POST, and no PUT.'],
    ['POST', `/v1/segments/${segment}`, 'This path takes GET, PUT, DELETE, and no POST.'],
    ['GET', '/v1/mesages', 'There is no path /v1/mesages here.'],
    ['GET', '/v1/mesages?api_key=secret', 'There is no path /v1/mesages here.'],
  ])('%s %s names the allowed methods, or says that there is no such path', async (method, path, told) => {
    const answer = await t.request(method, path, { key: null });
    expect(answer).toMatchObject({ status: 404, body: { error: 'not_found', message: told } });
  });
});

describe('400', () => {
  it.each([
    ['{\n  "audience": {"all": true}\n  "content": {}\n}', `unexpected "\\"", at line 3, column 3.`],
    ['{"audience": {"all": true}', 'it ends too early, at line 1, column 27.'],
    ["{'audience': 1}", `unexpected "'", at line 1, column 2.`],
  ])('broken JSON gets its position: %j', async (raw, told) => {
    const { status, body } = await send(raw);
    const message = `The body is not valid JSON: ${told}`;
    expect({ status, error: body.error, message: body.message }).toEqual({
      status: 400,
      error: 'invalid_json',
      message,
    });
    expect(body.issues).toEqual([{ path: [], code: 'invalid_json', message }]);
  });

  it('an empty body gets another message than a wrong one', async () => {
    expect((await t.request('POST', '/v1/messages', { key: t.app.serverKey })).body).toMatchObject({
      error: 'validation_failed',
      message: 'The body is empty: send a JSON object.',
      issues: [{ path: [], code: 'required' }],
    });
    expect((await send(' \n')).body.message).toBe('The body is empty but for white space: send JSON.');
    expect((await send('[]')).body.message).not.toMatch(/empty/);
  });

  it('the message names a single wrong field', async () => {
    const filter = { and: [{ field: 'country', op: 'gt', value: 'DE' }] };
    const { body } = await t.server.post('/v1/messages', { audience: { filter }, content: { title: 'Sale' } });
    expect(body.issues).toHaveLength(1);
    expect(body.message).toBe(`audience.filter.and.0.op: ${body.issues[0].message}`);
    // When the issue names its field, the message must not name it again.
    const tooLong = await t.server.post('/v1/users', { external_id: 'x'.repeat(257) });
    expect(tooLong.body.message).toBe(tooLong.body.issues[0].message);
    expect(tooLong.body.message).toMatch(/^external_id /);
  });
});

it.each([
  ['an answer', `GET /v1/channels HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`],
  ['a refusal', `GET /v1/nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`],
  ['a check of health', `GET /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`],
  ['what is no HTTP', `GARBAGE\r\n\r\n`],
])('%s ends with a line break', async (_what, request) => {
  expect((await exchange(t.url, request)).text).toMatch(/\}\n$/);
});
