// The description itself: it is complete and closed, it has every route, and its request schemas
// accept and refuse what the service accepts and refuses.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readDescription } from '../api-description.ts';
import { setup } from '../setup.ts';

const t = await setup();
const { text, document, operations, resolve, responseOf, answers, misfits, requestSchemaOf, ask } =
  await readDescription(t);

describe('the document', () => {
  it('is served exactly as it is committed', () => {
    expect(text).toBe(readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'));
  });

  it('describes every route of the service except its pages and its console, and no other', () => {
    const routes: string[] = [];
    const above: string[] = [];
    for (const line of t.service.server.printRoutes({ commonPrefix: false }).split('\n')) {
      const [, indent, segment, methods = ''] = /^([│ ]*)[├└]── (\S+)(?: \((.*)\))?$/.exec(line) ?? [];
      if (indent === undefined || segment === undefined) continue;
      above.splice(indent.length / 4, above.length, segment);
      const path = above.join('').replace(/:(\w+)/g, '{$1}');
      // HEAD belongs to every GET, and OPTIONS is a browser's preflight. The document says so in
      // words.
      const described = methods.split(', ').filter((method) => !['', 'HEAD', 'OPTIONS'].includes(method));
      if (!/^\/(demo|console(?:\/|\*|$)|metrics$|base\.css|$)/.test(path))
        routes.push(...described.map((method) => `${method} ${path}`));
    }
    expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(routes.sort());
  });

  it('is OpenAPI 3.1: references resolve, operation names are unique, parameters are those of the path', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({ title: expect.any(String), version: expect.any(String) });
    for (const [ref] of text.matchAll(/"#\/[^"]*"/g)) resolve(JSON.parse(ref));
    const ids = operations.map(({ operationId }) => operationId);
    expect(ids).toEqual([...new Set(ids)]);
    for (const operation of operations) {
      const { path, operationId, parameters = [], responses, security } = operation;
      const inPath = parameters.filter((parameter) => parameter.in === 'path');
      const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      expect({ operationId, names: inPath.map(({ name }) => name) }).toEqual({ operationId, names });
      expect(inPath.every(({ required }) => required)).toBe(true);
      expect(new Set(parameters.map(({ name }) => name)).size).toBe(parameters.length);
      for (const status of Object.keys(responses)) {
        expect(status).toMatch(/^[1-5]\d\d$/);
        expect(responseOf(operation, Number(status))?.description).toEqual(expect.any(String));
      }
      const schemes = security.flatMap((requirement) => Object.keys(requirement));
      expect(schemes.filter((scheme) => !document.components.securitySchemes[scheme])).toEqual([]);
    }
    for (const name of Object.keys(document.components.schemas)) expect(name).toMatch(/^[A-Z][A-Za-z]+$/);
  });

  it('uses every schema it names', () => {
    const unused = Object.keys(document.components.schemas).filter(
      (name) => !text.includes(`"#/components/schemas/${name}"`),
    );
    expect(unused).toEqual([]);
  });

  it('gives examples that fit its own schemas', () => {
    const requests = operations.flatMap(({ requestBody }) => Object.values(requestBody?.content ?? {}));
    const problems = [...requests, ...answers].map(({ schema, example }) => misfits(schema, example));
    expect(problems.filter((problem) => problem !== '')).toEqual([]);
  });

  it('is closed: a value that is not promised does not fit, at any depth', () => {
    const open = answers.flatMap(({ schema, example }) =>
      [...withSurprises(example)]
        .filter(({ copy }) => misfits(schema, copy) === '')
        .map(({ at }) => `${schema.$ref.replace(/.*\//, '')} ${at}`),
    );
    expect(open).toEqual([
      // Closed like the others, but beside a `oneOf`, where this test's reader cannot see it.
      'Message /audience',
      'Message /audience',
      // The contents of a description are defined by OpenAPI itself.
      'Description ',
      'Description ',
    ]);
  });
});

/** Copies of a JSON value, each with one extra field in one of its objects. */
function* withSurprises(value: unknown, at = ''): Generator<{ at: string; copy: unknown }> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield { at, copy: { ...value, surprise: { nobody: 'promised this' } } };
  for (const [key, item] of Object.entries(value)) {
    for (const inner of withSurprises(item, `${at}/${key}`)) {
      const copy = Array.isArray(value) ? value.with(Number(key), inner.copy) : { ...value, [key]: inner.copy };
      yield { at: inner.at, copy };
    }
  }
}

const content = { title: 'Sale', body: 'Now on', url: 'https://shop.example/sale' };
const rich = {
  ...content,
  data: { campaign: 'autumn', discount: 20, vip: true },
  locales: { de: { title: 'Ausverkauf' }, 'pt-br': { body: null } },
  webpush: { actions: [{ action: 'open', title: 'Open', url: 'https://shop.example/{{external_id}}' }], badge: null },
  apns: { sound: { name: 'bell.caf', volume: 0.5 } },
};

describe('requests are accepted and refused as described', () => {
  const web = { platform: 'web', token: t.pushSubscription() };
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-${i}`, i]));
  const sends = (fields: object) => ({ audience: { external_ids: ['nobody'] }, content, ...fields });
  const says = (fields: object) => sends({ content: { ...content, ...fields } });

  const tomorrow = new Date(t.clock.nowMs() + 24 * 3_600_000).toISOString();

  it.each<[id: string, what: string, isTaken: boolean, body: unknown]>([
    ['sendMessage', 'one selector', true, sends({})],
    [
      'sendMessage',
      'one selector beside null',
      true,
      sends({ audience: { all: true, device_ids: null }, dry_run: true }),
    ],
    ['sendMessage', 'two selectors', false, sends({ audience: { all: true, device_ids: ['dev_x'] } })],
    ['sendMessage', 'no selector', false, sends({ audience: {} })],
    ['sendMessage', 'nobody in a list', false, sends({ audience: { device_ids: [] } })],
    ['sendMessage', 'all: false', false, sends({ audience: { all: false } })],
    ['sendMessage', 'no content', false, { audience: { all: true } }],
    ['sendMessage', 'content of every kind', true, sends({ content: rich })],
    ['sendMessage', 'an unknown field of content', false, says({ titel: 'Sale' })],
    ['sendMessage', 'a field of another channel', false, says({ fcm: { subtitle: 'x' } })],
    ['sendMessage', 'a title that is too long', false, says({ title: 'x'.repeat(1025) })],
    ['sendMessage', 'a ttl that is too long', false, says({ ttl: 2_419_201 })],
    ['sendMessage', 'a language that is none', false, says({ locales: { de_DE: { title: 'x' } } })],
    ['sendMessage', 'a language that is null', true, says({ locales: { de: null } })],
    ['sendMessage', 'data of 20 keys', true, says({ data: keys(20) })],
    ['sendMessage', 'data of 21 keys', false, says({ data: keys(21) })],
    ['sendMessage', 'data with a key of spaces', false, says({ data: { 'a b': 1 } })],
    ['sendMessage', 'data that nests', false, says({ data: { a: {} } })],
    ['sendMessage', 'metadata of 10 keys', true, sends({ metadata: keys(10) })],
    ['sendMessage', 'metadata of 11 keys', false, sends({ metadata: keys(11) })],
    ['sendMessage', 'send_at: null', true, sends({ send_at: null })],
    ['sendMessage', 'send_at', true, sends({ send_at: tomorrow })],
    ['sendMessage', 'send_at without an offset', false, sends({ send_at: tomorrow.slice(0, -1) })],
    ['sendMessage', 'send_at as a number', false, sends({ send_at: 1 })],
    ['sendMessage', 'a local time', true, sends({ send_at: tomorrow, local_time: true, local_time_past: 'skip' })],
    ['sendMessage', 'a local_time_past of another word', false, sends({ send_at: tomorrow, local_time_past: 'later' })],
    ['sendMessage', 'local_time as a word', false, sends({ send_at: tomorrow, local_time: 'yes' })],
    ['upsertUser', 'nulls', true, { external_id: 'u-9', first_name: null, country: null, properties: null }],
    ['upsertUser', 'no external_id', false, { first_name: 'Ada' }],
    ['upsertUser', 'an external_id that is too long', false, { external_id: 'x'.repeat(257) }],
    ['upsertUser', 'a country of three letters', false, { external_id: 'u-9', country: 'DEU' }],
    [
      'upsertUser',
      'a property that is null',
      true,
      { external_id: 'u-9', properties: { a: null, b: 1, c: 'x', d: true } },
    ],
    ['upsertUser', 'a property that nests', false, { external_id: 'u-9', properties: { a: [] } }],
    ['upsertUser', 'a property key that begins with a digit', false, { external_id: 'u-9', properties: { '1a': 1 } }],
    ['upsertUser', 'a property that is too long', false, { external_id: 'u-9', properties: { a: 'x'.repeat(1025) } }],
    ['registerDevice', 'a subscription as an object', true, web],
    ['registerDevice', 'a subscription as text', true, { ...web, token: JSON.stringify(web.token) }],
    ['registerDevice', 'a subscription with a key of its own', false, { ...web, token: { ...web.token, id: 1 } }],
    ['registerDevice', 'a subscription without keys', false, { ...web, token: { endpoint: web.token.endpoint } }],
    ['registerDevice', 'a number as token', false, { ...web, token: 1 }],
    ['registerDevice', 'no token', false, { platform: 'android' }],
    ['registerDevice', 'an unknown platform', false, { platform: 'windows', token: 'x' }],
    ['registerDevice', 'a locale with an underscore', true, { ...web, locale: 'de_DE' }],
    ['registerDevice', 'a number as locale', false, { ...web, locale: 5 }],
    ['registerDevice', 'a fact that is too long', false, { ...web, model: 'x'.repeat(65) }],
    ['identifyDevice', 'no device_id', false, { external_id: 'u-9' }],
    ['identifyDevice', 'no external_id', false, { device_id: 'dev_x' }],
    ['identifyDevice', 'an external_id that is null', true, { device_id: 'dev_x', external_id: null }],
    ['identifyDevice', 'an external_id that is empty', false, { device_id: 'dev_x', external_id: '' }],
    ['identifyDevice', 'a user_hash that is null', true, { device_id: 'dev_x', external_id: 'u-9', user_hash: null }],
    ['identifyDevice', 'a number as user_hash', false, { device_id: 'dev_x', external_id: 'u-9', user_hash: 1 }],
    ['identifyDevice', 'a user_token', true, { device_id: 'dev_x', external_id: 'u-9', user_token: 'x.y.z' }],
    ['identifyDevice', 'a list as user_token', false, { device_id: 'dev_x', external_id: 'u-9', user_token: [] }],
    ['trackEvents', 'one event', true, { name: 'a', properties: { a: [{ b: null }] }, id: 'x', occurred_at: tomorrow }],
    ['trackEvents', 'nulls', true, { name: 'a', properties: null, device_id: null, external_id: null, id: null }],
    ['trackEvents', 'two events', true, { events: [{ name: 'a' }, { name: 'b' }] }],
    ['trackEvents', 'a name beside events', false, { events: [{ name: 'a' }], name: 'a' }],
    ['trackEvents', 'no name', false, { properties: {} }],
    ['trackEvents', 'a name that is too long', false, { name: 'x'.repeat(129) }],
    ['trackEvents', 'an unknown field', false, { name: 'a', amount: 1 }],
    ['trackEvents', 'properties as a list', false, { name: 'a', properties: [] }],
    ['trackEvents', '51 properties', false, { name: 'a', properties: keys(51) }],
    ['trackEvents', 'a property key of 65', false, { name: 'a', properties: { ['k'.repeat(65)]: 1 } }],
    ['trackEvents', 'an id with a space', false, { name: 'a', id: 'a b' }],
    ['trackEvents', 'an empty id', false, { name: 'a', id: '' }],
    ['trackEvents', 'an empty user', false, { name: 'a', external_id: '' }],
    ['trackEvents', 'no events', false, { events: [] }],
    ['trackEvents', '51 events', false, { events: Array(51).fill({ name: 'a' }) }],
    ['recordReceipt', 'an unknown event', false, { token: 'x', event: 'opened' }],
    ['recordReceipt', 'an action that is too long', false, { token: 'x', event: 'clicked', action: 'x'.repeat(65) }],
    ['recordReceipt', 'an action that is null', true, { token: 'x', event: 'displayed', action: null }],
  ])('%s with %s: accepted %s', async (id, _what, isTaken, body) => {
    const { status } = await ask(id, { body });
    expect({ described: misfits(requestSchemaOf(id), body) === '', served: status !== 400 }).toEqual({
      described: isTaken,
      served: isTaken,
    });
  });
});
