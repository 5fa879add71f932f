import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createLog } from '../host/log.ts';
import { bind, ok, routesWith } from './route.ts';
import { component, exampleOf, pageComponent } from './schemas.ts';
import { Answer, type ApiRequest } from './server.ts';

interface Deps {
  readonly greeting: string;
  readonly steps: string[];
}
interface Person {
  readonly name: string;
}
const route = routesWith<Deps, Person>({ tag: 'Test', access: 'public' });
const greeted = component('Greeted', z.strictObject({ text: z.string(), kind: z.enum(['short', 'long']) }), {
  text: 'Hi',
  kind: 'short',
});
const fields = { summary: 'Greet', answers: ok('A greeting.', greeted) };
const greeting = async ({ greeting: text }: Deps) => ({ text, kind: 'short' as const });

const request = (given: Partial<ApiRequest<Person>> = {}): ApiRequest<Person> => ({
  caller: { name: 'Ada' },
  method: 'POST',
  params: {},
  query: {},
  body: undefined,
  header: () => [],
  id: 'req_1',
  log: createLog('silent', 'test'),
  address: '127.0.0.1',
  aside: (work) => work(),
  gone: () => new AbortController().signal,
  ...given,
});
const newDeps = (): Deps => ({ greeting: 'Hi', steps: [] });
const issuesOf = async (answer: Promise<unknown>) =>
  answer.then(
    () => [],
    (error) => error.details.issues.map(({ path, code }: { path: string[]; code: string }) => `${path} ${code}`),
  );

describe('a bound route', () => {
  it('refuses query parameters and a body where it describes none', async () => {
    const [bound] = bind([route('greet', 'POST /hello', fields).handle(greeting)], newDeps());
    expect(await bound?.handle(request())).toEqual({ text: 'Hi', kind: 'short' });
    expect(await issuesOf(bound?.handle(request({ query: { a: '1' } })) as never)).toEqual(['a unrecognized_keys']);
    expect(await issuesOf(bound?.handle(request({ body: { b: 1 } })) as never)).toEqual(['b unrecognized_keys']);
  });

  it('hands over parameters of its path, and query and body as its schemas read them', async () => {
    const greet = route('greet', 'POST /hello/:name/:times', {
      ...fields,
      params: {
        name: { description: 'Who.', example: 'Ada' },
        times: { description: 'How often.', example: '2' },
      },
      query: z.strictObject({ loud: z.string().transform((text) => text === 'yes') }),
      body: component('Sign', z.strictObject({ sign: z.string() }), { sign: '!' }),
    }).handle(async ({ greeting: text }, { params, query, body }) => {
      const loud: boolean = query.loud;
      return { text: `${text} ${params.name} ${params.times} ${loud} ${body.sign}`, kind: 'long' };
    });
    const [bound] = bind([greet], newDeps());
    const given = { params: { name: 'Bo', times: '3' }, query: { loud: 'yes' }, body: { sign: '!' } };
    expect(await bound?.handle(request(given))).toEqual({ text: 'Hi Bo 3 true !', kind: 'long' });
    expect(await issuesOf(bound?.handle(request({ ...given, query: {} })) as never)).toEqual(['loud required']);
    expect(await issuesOf(bound?.handle(request({ ...given, body: {} })) as never)).toEqual(['sign required']);
  });

  it('uses its own readers where it has some, and its schemas then only describe', async () => {
    const greet = route('greet', 'POST /hello', {
      ...fields,
      query: z.strictObject({ a: z.string() }),
      readQuery: (given, deps) => `${deps.greeting} ${Object.keys(given)}`,
      body: component('Signless', z.strictObject({}), {}),
      readBody: (given, _deps, caller) => ({ given, by: caller.name }),
    }).handle(async (_deps, { query, body }) => ({ text: `${query} ${body.given} ${body.by}`, kind: 'long' }));
    const [bound] = bind([greet], newDeps());
    const answer = await bound?.handle(request({ query: { b: '1' }, body: 5 }));
    expect(answer).toEqual({ text: 'Hi b 5 Ada', kind: 'long' });
  });

  it('does its work around a request before it checks the request', async () => {
    const greet = route('greet', 'POST /hello', {
      ...fields,
      async within({ steps }, _request, work) {
        steps.push('before');
        return work().finally(() => steps.push('after'));
      },
    }).handle(async ({ steps, greeting: text }) => {
      steps.push('handled');
      return { text, kind: 'short' };
    });
    const deps = newDeps();
    const [bound] = bind([greet], deps);
    await bound?.handle(request());
    expect(deps.steps).toEqual(['before', 'handled', 'after']);
    expect(await issuesOf(bound?.handle(request({ query: { a: '1' } })) as never)).toEqual(['a unrecognized_keys']);
    expect(deps.steps.slice(3)).toEqual(['before', 'after']);
  });

  it('compiles only with answers, parameters and statuses as described', () => {
    const plain = route('greet', 'POST /hello', fields);
    // @ts-expect-error: the answer lacks a field.
    plain.handle(async () => ({ text: 'Hi' }));
    // @ts-expect-error: the field has another closed set of values.
    plain.handle(async () => ({ text: 'Hi', kind: 'medium' }));
    // @ts-expect-error: the status is not described.
    plain.handle(async () => new Answer(302, { location: '/' }));
    // @ts-expect-error: the path has no such parameter.
    plain.handle(async (_deps, { params }) => ({ text: params.name, kind: 'short' }));
    // @ts-expect-error: the parameter of the path is not described.
    expect(() => route('greet', 'POST /hello/:name', fields).handle(greeting)).toThrow('greet does not describe');
    // @ts-expect-error: the table of errors has no such code.
    route('greet', 'POST /hello', { ...fields, refusals: ['teapot'] });
    // @ts-expect-error: there is no such method.
    route('greet', 'PUSH /hello', fields);
    expect(plain).toHaveProperty('handle');
  });
});

describe('an area', () => {
  const below = routesWith<Deps, Person, 'room'>({
    tag: 'Rooms',
    access: 'session',
    least: 'viewer',
    prefix: '/rooms/:room',
    params: { room: { description: 'A room.', example: 'r_1' } },
  });
  const paths = { tag: 'Rooms', refusals: ['not_found'], params: { room: { example: 'r_1' } } };

  it('gives its routes tag, access, least role, prefix and parameters', () => {
    const read = below('read', 'GET /', fields).handle(greeting);
    expect(read).toMatchObject({ ...paths, method: 'GET', path: '/rooms/:room', access: 'session', least: 'viewer' });
    const enter = below('enter', 'POST /doors', { ...fields, refusals: ['app_suspended'] }).handle(greeting);
    expect(enter).toMatchObject({ ...paths, path: '/rooms/:room/doors', refusals: ['not_found', 'app_suspended'] });
  });

  it('is overruled by what a route says of itself', () => {
    const close = below('close', 'DELETE /', { ...fields, access: 'public', least: 'admin' }).handle(greeting);
    expect(close).toMatchObject({ access: 'public', least: 'admin' });
  });

  it('gives a route only the parameters that its path has', () => {
    const params = { room: { description: 'A room.', example: 'r_1' } };
    const everywhere = routesWith<Deps, Person, 'room'>({ tag: 'Rooms', access: 'session', params });
    expect(everywhere('list', 'GET /rooms', fields).handle(greeting).params).toEqual({});
    expect(everywhere('read', 'GET /rooms/:room', fields).handle(greeting).params).toEqual(params);
  });

  it('has no 404 for a path without a parameter', () => {
    expect(route('greet', 'POST /hello', fields).handle(greeting).refusals).toEqual([]);
  });
});

describe('a component', () => {
  it('has its example, and a page of it has one item', () => {
    const page = pageComponent('GreetedPage', greeted);
    expect(exampleOf(page)).toEqual({ data: [{ text: 'Hi', kind: 'short' }], has_more: false, next_cursor: null });
    expect(() => exampleOf(component('Mute', z.string()))).toThrow('Mute has no example');
  });

  it('compiles only with an example of its schema', () => {
    // @ts-expect-error: the kind is none of the closed set.
    component('Wrong', greeted.clone(), { text: 'Hi', kind: 'medium' });
    expect(exampleOf(greeted).kind).toBe('short');
  });
});
