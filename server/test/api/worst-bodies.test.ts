// Cost of bad input, seen from outside: a check stops at the 50th issue, whatever is wrong
// and however often.
import { describe, expect, it } from 'vitest';
import { type Response, setup } from '../setup.ts';

const t = await setup({ workers: false });
const post = (path: string, body: unknown): Promise<Response> => t.server.post(path, body);

const times = <Value>(count: number, of: (i: number) => Value): Value[] =>
  Array.from({ length: count }, (_, i) => of(i));
const named = (count: number, value: unknown): Record<string, unknown> =>
  Object.fromEntries(times(count, (i) => [`field ${i}`, value]));
const letterOf = (i: number): string =>
  `${String.fromCharCode(97 + Math.floor(i / 26))}${String.fromCharCode(97 + (i % 26))}`;
const content = { title: 'Sale' };
const audience = { all: true };

/** Bodies with a number of faults of one kind, by path. */
const faults: readonly (readonly [what: string, path: string, body: (count: number) => unknown])[] = [
  ['unknown fields', '/v1/users', (count) => ({ external_id: 'u-1', ...named(count, 1) })],
  [
    'unknown fields of devices',
    '/v1/devices',
    (count) => ({ platform: 'ios', token: 'a'.repeat(64), ...named(count, 1) }),
  ],
  ['bad names of properties', '/v1/users', (count) => ({ external_id: 'u-1', properties: named(count, 1) })],
  [
    'bad values of properties',
    '/v1/users',
    (count) => ({ external_id: 'u-1', properties: Object.fromEntries(times(count, (i) => [`p${i}`, []])) }),
  ],
  ['unknown fields of an event', '/v1/events', (count) => ({ name: 'opened', ...named(count, 1) })],
  ['unknown fields beside a batch', '/v1/events', (count) => ({ events: [{ name: 'opened' }], ...named(count, 1) })],
  [
    'unknown fields of events',
    '/v1/events',
    (count) => ({
      events: times(50, (i) => ({
        name: 'opened',
        ...(i < count % 50 || count >= 50 ? named(Math.ceil(count / 50), 1) : {}),
      })),
    }),
  ],
  [
    'device ids that are numbers',
    '/v1/messages',
    (count) => ({ audience: { device_ids: times(count, (i) => i) }, content }),
  ],
  ['empty external ids', '/v1/messages', (count) => ({ audience: { external_ids: times(count, () => '') }, content })],
  ['unknown fields of content', '/v1/messages', (count) => ({ audience, content: { ...content, ...named(count, 1) } })],
  [
    'bad titles of languages',
    '/v1/messages',
    // At most a hundred languages are read.
    (count) => ({
      audience,
      content: {
        ...content,
        locales: Object.fromEntries(times(Math.min(count, 100), (i) => [`a${letterOf(i)}`, { title: 1 }])),
      },
    }),
  ],
  [
    'unknown fields of filter nodes',
    '/v1/segments',
    (count) => ({ name: 'S', filter: { field: 'country', op: 'exists', ...named(count, 1) } }),
  ],
  ['filter nodes that are numbers', '/v1/segments/preview', (count) => ({ filter: { and: times(count, (i) => i) } })],
  [
    'strings with U+0000',
    '/v1/messages',
    (count) => ({ audience: { device_ids: times(count, () => '\u0000') }, content }),
  ],
  ['names with U+0000', '/v1/users', (count) => Object.fromEntries(times(count, (i) => [`\u0000${i}`, 1]))],
];

describe('R-103 a check stops at the 50th issue', () => {
  it.each(faults)('%s of %s: 49 are all named', async (_what, path, body) => {
    const { status, body: answer } = await post(path, body(49));
    expect(status).toBe(400);
    expect(answer.issues).toHaveLength(49);
    expect(answer.message).toBe('49 fields are invalid.');
  });

  it.each(faults)('%s of %s: of more the first 50 are named, and no number is said', async (_what, path, body) => {
    for (const count of [50, 150, 990]) {
      const { status, body: answer } = await post(path, body(count));
      expect(status).toBe(400);
      expect(answer.issues).toHaveLength(50);
      expect(answer.message).toBe('At least 50 fields are invalid.');
    }
  });
});

describe('R-103 what is not worth parsing is not parsed, and the answer says the same', () => {
  /** A list of about this many bytes, of objects whose names differ. */
  const dense = (bytes: number): object[] => times(Math.ceil(bytes / 10), (i) => ({ [i.toString(36)]: 1 }));

  it.each<[what: string, path: string, body: (junk: unknown) => unknown, issues: object[]]>([
    [
      'the place of a text',
      '/v1/users',
      (junk) => ({ external_id: junk }),
      [{ path: ['external_id'], code: 'invalid_type' }],
    ],
    [
      'a value of a property',
      '/v1/users',
      (junk) => ({ external_id: 'u', properties: { a: junk } }),
      [{ path: ['properties', 'a'], code: 'invalid_type' }],
    ],
    [
      'an unknown field',
      '/v1/identify',
      (junk) => ({ device_id: 'd', external_id: 'u', x: junk }),
      [{ path: ['x'], code: 'unrecognized_keys' }],
    ],
    [
      'a field of an event',
      '/v1/events',
      (junk) => ({ events: [{ name: 'a' }, { name: junk }] }),
      [{ path: ['events', 1, 'name'], code: 'invalid_type' }],
    ],
    [
      'a part of a token',
      '/v1/devices',
      (junk) => ({ platform: 'ios', token: { endpoint: junk } }),
      [{ path: ['token'], code: 'invalid_type' }],
    ],
    [
      'a list of ids',
      '/v1/messages',
      (junk) => ({ audience: { device_ids: ['a', junk] }, content }),
      [{ path: ['audience', 'device_ids', 1], code: 'invalid_type' }],
    ],
    [
      'data',
      '/v1/messages',
      (junk) => ({ audience, content: { ...content, data: { a: junk } } }),
      [{ path: ['content', 'data', 'a'], code: 'invalid_type' }],
    ],
    [
      'a field of a leaf',
      '/v1/segments/preview',
      (junk) => ({ filter: { not: { field: junk, op: 'exists' } } }),
      [{ path: ['filter', 'not', 'field'], code: 'invalid_type' }],
    ],
    ['a body that is a list', '/v1/messages', (junk) => junk, [{ path: [], code: 'invalid_type' }]],
  ])('objects and lists in %s', async (_what, path, body, issues) => {
    for (const bytes of [30, 60_000]) {
      const answer = await post(path, body(dense(bytes)));
      expect(answer.status).toBe(400);
      expect(answer.body.issues).toMatchObject(issues);
      expect(answer.body.issues).toHaveLength(issues.length);
    }
  });

  it('fields of a body where none is taken', async () => {
    for (const bytes of [30, 60_000]) {
      const issues = [{ path: ['x'], code: 'unrecognized_keys' }];
      const body = { x: dense(bytes) };
      const cancel = await post('/v1/messages/msg_02y9GVDsTuJUi2BOoCH5G3/cancel', body);
      expect(cancel).toMatchObject({ status: 400, body: { issues } });
      const list = await post('/v1/messages/msg_02y9GVDsTuJUi2BOoCH5G3/cancel', dense(bytes));
      expect(list).toMatchObject({ status: 400, body: { issues: [{ path: [], code: 'invalid_type' }] } });
    }
  });

  it('lists that are too long', async () => {
    const tooMany = async (path: string, body: unknown): Promise<unknown> =>
      (await post(path, body)).body.issues.map((issue: { path: unknown; code: unknown }) => [issue.path, issue.code]);
    const ids = times(20_000, String);
    expect(await tooMany('/v1/messages', { audience: { external_ids: ids }, content })).toEqual([
      [['audience', 'external_ids'], 'too_big'],
    ]);
    expect(await tooMany('/v1/events', { events: times(2_000, () => ({ name: 'a' })) })).toEqual([
      [['events'], 'too_big'],
    ]);
    const leaf = { field: 'country', op: 'exists' };
    const [first] = (await tooMany('/v1/segments', {
      name: 'S',
      filter: { or: times(5_000, () => leaf) },
    })) as unknown[];
    expect(first).toEqual([['filter'], 'too_many_nodes']);
  });
});

describe('R-103 an answer is short, whatever the body', () => {
  it('names of megabytes are cut in it, names of 1,024 characters are whole', async () => {
    const long = times(60, (i) => `${i}${'🔔'.repeat(3_000)}`);
    const unknown = { audience, content, ...Object.fromEntries(long.map((name) => [name, 1])) };
    const { status, body } = await post('/v1/messages', unknown);
    expect(status).toBe(400);
    expect(body.issues).toHaveLength(50);
    expect(JSON.stringify(body).length).toBeLessThan(100_000);
    for (const [i, { path }] of body.issues.entries()) {
      expect(path).toEqual([`${long[i]?.slice(0, 1024).toWellFormed()}…`]);
    }
    const name = 'x'.repeat(1024);
    const whole = await post('/v1/users', { external_id: 'u-1', [name]: 1 });
    expect(whole.body.issues).toMatchObject([{ path: [name], code: 'unrecognized_keys' }]);
  });

  it('the place of a fault deep in the properties of an event is named in full', async () => {
    const properties = { fine: [{ b: { c: 1 } }], a: [1, { b: 2, c: { d: [{ e: [] }] } }] };
    const { status, body } = await post('/v1/events', { name: 'opened', properties });
    expect(status).toBe(400);
    expect(body.issues).toMatchObject([{ path: ['properties', 'a', 1, 'c', 'd', 0], code: 'too_deep' }]);
  });
});
