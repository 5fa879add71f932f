// Rules that every channel must follow, whatever its provider's dialect: one suite for all
// channels. The test file of each channel runs it against real TLS servers that answer as a case
// says.
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Outcome, Push } from '../../src/sending/channels/channel.ts';
import type { ChannelContent } from '../../src/sending/content/content.ts';
import type { AskedChannel } from './asked-channel.ts';
import { type Protocol, type PushServer, type Served, startPushServer } from './push-server.ts';

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ChannelUnderTest<Credential> {
  /** The channel's name in test names. */
  readonly name: string;
  readonly protocol: Protocol;
  /** A channel that uses `server` as its provider. */
  create(server: PushServer, timeoutMs: number): AskedChannel<Credential>;
  /** A push to device number `device` that a provider accepts. */
  push(device: number, content?: Partial<ChannelContent>): Push<Credential>;
  /** A token that cannot be sent to a provider. */
  readonly malformedToken: string;
  /** The title of the notification in a request. */
  titleOf(request: Served): string;
  /** A request's options in terms that all providers share. */
  wishesOf(request: Served): Wishes;
  /** The most connections for many concurrent pushes. */
  readonly connectionsMax: number;
  /** The provider's answers in its own words. */
  readonly answers: {
    readonly accepted: Answer;
    /** The token is dead. */
    readonly gone: Answer;
    /** A field is refused. */
    readonly invalid: Answer;
    /** Too many requests, without Retry-After. */
    readonly throttled: Answer;
    /** The provider's own trouble, without Retry-After. */
    readonly unavailable: Answer;
  };
}

export interface Wishes {
  /** How long the provider tries to reach the device. */
  readonly ttlSeconds: number;
  readonly isUrgent: boolean;
  /** Equal for two pushes when the later one replaces the earlier one on the device. */
  readonly replaces: string;
}

function answer(request: Served, { status, headers = {}, body = '' }: Answer, more: Record<string, string> = {}): void {
  request.answer(status, { ...headers, ...more }, body);
}

/** Freezes a value and everything in it, except bytes, which cannot be frozen. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}

const refusal = (outcome: Outcome) => {
  if (outcome.kind !== 'refused') throw new Error('It was sent.');
  return outcome;
};

export function describeChannel<Credential>(under: ChannelUnderTest<Credential>): void {
  const setup = async ({ timeoutMs = 10_000 } = {}) => {
    const server = await startPushServer({ protocol: under.protocol });
    const channel = under.create(server, timeoutMs);
    onTestFinished(async () => {
      await server.close();
      await channel.close();
    });
    server.handle = (request) => answer(request, under.answers.accepted);
    const send = (device: number, content?: Partial<ChannelContent>) => channel.send(under.push(device, content));
    return { server, channel, send };
  };

  describe(`${under.name}: rules of every channel`, () => {
    test('an accepted push is one request, and its outcome is sent', async () => {
      const t = await setup();
      expect(await t.send(1)).toMatchObject({ kind: 'sent', provider: { httpStatus: under.answers.accepted.status } });
      expect(t.server.seen).toHaveLength(1);
    });

    test('a field that the provider refuses is final', async () => {
      const t = await setup();
      t.server.handle = (request) => answer(request, under.answers.invalid);
      expect(await t.send(1)).toMatchObject({ kind: 'refused', errorCode: 'invalid_payload', retryable: false });
    });

    test('a dead token is unregistered, and final', async () => {
      const t = await setup();
      t.server.handle = (request) => answer(request, under.answers.gone);
      expect(await t.send(1)).toMatchObject({ kind: 'refused', errorCode: 'unregistered', retryable: false });
    });

    test.each([
      ['throttled', 'rate_limited'],
      ['unavailable', 'provider_unavailable'],
    ] as const)('%s: %s, to be tried again when Retry-After says', async (kind, errorCode) => {
      const t = await setup();
      t.server.handle = (request) => answer(request, under.answers[kind]);
      expect(await t.send(1)).toMatchObject({ errorCode, retryable: true, retryAfterMs: null });
      t.server.handle = (request) => answer(request, under.answers[kind], { 'retry-after': '7' });
      expect(await t.send(1)).toMatchObject({
        errorCode,
        retryAfterMs: 7_000,
        provider: { headers: { 'retry-after': '7' } },
      });
      t.server.handle = (request) => answer(request, under.answers[kind], { 'retry-after': '86400' });
      expect(await t.send(1)).toMatchObject({ retryAfterMs: 3_600_000 });
    });

    test('a lost connection is reported and not repeated silently, and the next push has a new one', async () => {
      const t = await setup();
      await t.send(1);
      t.server.handle = (request) => request.cut();
      expect(await t.send(2)).toMatchObject({
        errorCode: 'provider_unavailable',
        retryable: true,
        provider: { httpStatus: null, transportError: 'reset' },
      });
      expect(t.server.seen).toHaveLength(2);
      t.server.handle = (request) => answer(request, under.answers.accepted);
      expect(await t.send(3)).toMatchObject({ kind: 'sent' });
      expect(t.server.seen[2]?.connection).not.toBe(t.server.seen[1]?.connection);
    });

    test('a silent provider causes a timeout, and other pushes go on', async () => {
      const t = await setup({ timeoutMs: 1_000 });
      // A connection that a busy machine opens too slowly is another fault than silence.
      await expect.poll(async () => (await t.send(0)).kind).toBe('sent');
      t.server.handle = (request) => {
        if (under.titleOf(request) !== 'silence') answer(request, under.answers.accepted);
      };
      const [silent, ...others] = await Promise.all([t.send(1, { title: 'silence' }), t.send(2), t.send(3)]);
      expect(silent).toMatchObject({ errorCode: 'timeout', retryable: true, provider: { transportError: 'timeout' } });
      expect(others.map(({ kind }) => kind)).toEqual(['sent', 'sent']);
    });

    test('a closed port gives provider_unavailable', async () => {
      const t = await setup();
      await t.server.close();
      expect(await t.send(1)).toMatchObject({
        errorCode: 'provider_unavailable',
        retryable: true,
        provider: { transportError: 'connect_error' },
      });
    });

    test('many concurrent pushes arrive once each, with their own content, over a few connections', async () => {
      const t = await setup();
      const titles = Array.from({ length: 300 }, (_, i) => `title ${i}`);
      const outcomes = await Promise.all(titles.map((title, i) => t.send(i, { title })));
      expect(outcomes.every(({ kind }) => kind === 'sent')).toBe(true);
      expect(t.server.seen.map(under.titleOf).toSorted()).toEqual(titles.toSorted());
      expect(t.server.connections).toBeLessThanOrEqual(under.connectionsMax);
    });

    test("the content's options reach the provider: priority, and the key of replacement", async () => {
      const t = await setup();
      await t.send(1);
      await t.send(1, { priority: 'low', collapse_key: 'order 17' });
      await t.send(1, { collapse_key: 'order 17' });
      await t.send(1, { collapse_key: 'order 18' });
      const [plain, low, same, other] = t.server.seen.map(under.wishesOf);
      expect([plain, low, same, other].map((wishes) => wishes?.isUrgent)).toEqual([true, false, true, true]);
      expect(same?.replaces).toBe(low?.replaces);
      expect(new Set([plain, same, other].map((wishes) => wishes?.replaces)).size).toBe(3);
    });

    test('a repeated push replaces the first, whatever happened to that', async () => {
      const t = await setup();
      const push = under.push(1);
      t.server.handle = (request) => answer(request, under.answers.unavailable);
      await t.channel.send(push);
      t.server.handle = (request) => answer(request, under.answers.accepted);
      await t.channel.send(push);
      const [first, second] = t.server.seen.map(under.wishesOf);
      expect(second?.replaces).toBe(first?.replaces);
    });

    test('the remaining ttl is sent, and 0 means now or never', async () => {
      const t = await setup();
      await t.channel.send({ ...under.push(1), ttlSeconds: 3_600 });
      await t.channel.send({ ...under.push(1), ttlSeconds: 0 });
      const [hour, now] = t.server.seen.map((request) => under.wishesOf(request).ttlSeconds);
      // Some seconds may pass on the way.
      expect(hour).toBeGreaterThan(3_000);
      expect(hour).toBeLessThanOrEqual(3_600);
      expect(now).toBe(0);
    });

    test('arguments are never changed', async () => {
      const t = await setup();
      const push = under.push(1, { title: 'kept', data: { a: 1 }, collapse_key: 'k' });
      const before = JSON.stringify(push);
      const frozen = deepFreeze(push);
      expect(await t.channel.send(frozen)).toMatchObject({ kind: 'sent' });
      expect(await t.channel.send(frozen)).toMatchObject({ kind: 'sent' });
      expect(JSON.stringify(frozen)).toBe(before);
      expect(t.server.seen.map(under.titleOf)).toEqual(['kept', 'kept']);
    });

    test('a malformed token is refused here without a request', async () => {
      const t = await setup();
      const outcome = await t.channel.send({ ...under.push(1), token: under.malformedToken });
      expect(outcome).toMatchObject({ errorCode: 'invalid_token', retryable: false, provider: null, latencyMs: 0 });
      expect(t.server.connections).toBe(0);
    });

    test.each([
      ['a page', { status: 502, headers: { 'content-type': 'text/html' }, body: '<html><h1>Bad gateway</h1></html>' }],
      ['JSON cut in half', { status: 400, body: '{"error":{"code":40' }],
      ['JSON of another shape', { status: 400, body: '[[{"reason":{}}],null]' }],
      ['a megabyte', { status: 500, body: 'x'.repeat(1_000_000) }],
      ['more than the content-length', { status: 500, headers: { 'content-length': '3' }, body: 'abcdef' }],
      ['no text', { status: 500, body: '\u0000\u0001\ufffd' }],
      [
        'words that no database takes',
        { status: 400, body: '{"reason":"\\u0000x\\ud800","error":{"status":"\\u0000","message":"a\\u0000b"}}' },
      ],
      ['a status nobody uses', { status: 599 }],
    ])('rubbish as an answer (%s) gives an outcome, and the next push succeeds', async (_name, rubbish: Answer) => {
      const t = await setup();
      t.server.handle = (request) => answer(request, rubbish);
      const { provider, reason } = refusal(await t.send(1));
      expect(provider?.httpStatus).toBe(rubbish.status);
      expect(isStorable(reason)).toBe(true);
      expect(Buffer.byteLength(provider?.body ?? '')).toBeLessThanOrEqual(4_096);
      expect(provider?.body ?? '').not.toContain('\u0000');
      t.server.handle = (request) => answer(request, under.answers.accepted);
      expect(await t.send(2)).toMatchObject({ kind: 'sent' });
    });

    test.each([
      ['a page', { headers: { 'content-type': 'text/html' }, body: '<html><h1>Welcome</h1></html>' }],
      ['JSON cut in half', { body: '{"name":"proj' }],
      ['JSON of another shape', { body: '[{"name":{}}]' }],
      ['a megabyte', { body: 'x'.repeat(1_000_000) }],
      ['no text', { body: '\u0000\u0001\ufffd' }],
      ['a name that no database takes', { body: '{"name":"projects/a/messages/\\u0000\\ud800"}' }],
    ])(
      'rubbish beside a success (%s) is still a success, and only a bounded part of it is kept',
      async (_name, rubbish) => {
        const t = await setup();
        t.server.handle = (request) => answer(request, { ...under.answers.accepted, ...rubbish });
        const outcome = await t.send(1);
        expect(outcome.kind).toBe('sent');
        expect(outcome.kind === 'sent' && isStorable(outcome.providerMessageId)).toBe(true);
        expect(Buffer.byteLength(outcome.provider?.body ?? '')).toBeLessThanOrEqual(4_096);
        expect(outcome.provider?.body ?? '').not.toContain('\u0000');
        t.server.handle = (request) => answer(request, under.answers.accepted);
        expect(await t.send(2)).toMatchObject({ kind: 'sent' });
      },
    );

    test('the kept part of an answer is text, short, and from the allow-list of headers', async () => {
      const t = await setup();
      const headers = { 'set-cookie': 'session=secret', 'x-internal': 'yes', 'content-type': 'text/plain' };
      t.server.handle = (request) => request.answer(400, headers, `${'é'.repeat(2_047)}a😀`);
      const { provider } = refusal(await t.send(1));
      expect(provider).toMatchObject({ headers: { 'content-type': 'text/plain' }, truncated: true });
      expect(Object.keys(provider?.headers ?? {})).toEqual(['content-type']);
      expect(provider?.body).toBe(`${'é'.repeat(2_047)}a`);
    });

    test("closing ends the channel's connections", async () => {
      const t = await setup();
      await t.send(1);
      await t.channel.close();
      await t.server.emptied();
    });
  });

  if (under.protocol === 'h2') describeReplays(under, setup);
  else describeHttp1(under, setup);
}

/**
 * Whether the database accepts a text: no NUL and well-formed. One refused text would cost a whole
 * batch its outcomes.
 */
function isStorable(text: string | null): boolean {
  return text === null || (!text.includes('\u0000') && text.isWellFormed());
}

type Setup = () => Promise<{
  server: PushServer;
  send(device: number, content?: Partial<ChannelContent>): Promise<Outcome>;
}>;

function describeReplays<Credential>(under: ChannelUnderTest<Credential>, setup: Setup): void {
  describe(`${under.name}: requests that HTTP/2 reports as not processed`, () => {
    test('a push refused three times is sent again at once, each time on another connection, as one attempt', async () => {
      const t = await setup();
      t.server.handle = (request) => {
        if (t.server.seen.length <= 3) request.refuse();
        else answer(request, under.answers.accepted);
      };
      expect(await t.send(1, { title: 'again' })).toMatchObject({ kind: 'sent' });
      expect(t.server.seen.map(under.titleOf)).toEqual(['again', 'again', 'again', 'again']);
      const connections = t.server.seen.map(({ connection }) => connection);
      expect(connections.filter((number, i) => number === connections[i - 1])).toEqual([]);
    });

    test('a push refused a fourth time is a failed attempt', async () => {
      const t = await setup();
      t.server.handle = (request) => request.refuse();
      expect(await t.send(1)).toMatchObject({
        errorCode: 'provider_unavailable',
        retryable: true,
        provider: { httpStatus: null, transportError: 'reset' },
      });
      expect(t.server.seen).toHaveLength(4);
    });

    test('GOAWAY: streams that it covers finish there, the rest go elsewhere, and no push is lost or doubled', async () => {
      const t = await setup();
      await t.send(0);
      const held: Served[] = [];
      t.server.handle = (request) => {
        if (request.connection > 0) {
          answer(request, under.answers.accepted);
          return;
        }
        held.push(request);
        if (held.length < 10) return;
        held[4]?.goAway();
        for (const covered of held.slice(0, 5)) answer(covered, under.answers.accepted);
      };
      const outcomes = await Promise.all(Array.from({ length: 10 }, (_, i) => t.send(i + 1, { title: `title ${i}` })));
      expect(outcomes.map(({ kind }) => kind)).toEqual(Array(10).fill('sent'));
      const elsewhere = t.server.seen.filter(({ connection }) => connection > 0).map(under.titleOf);
      expect(elsewhere.toSorted()).toEqual(held.slice(5).map(under.titleOf).toSorted());
    });

    test('a truncated answer counts by its status, and is marked as cut', async () => {
      const t = await setup();
      t.server.handle = (request) => request.answer(500, { 'content-length': '99' }, 'abc');
      const { provider } = refusal(await t.send(1));
      expect(provider).toMatchObject({ httpStatus: 500, truncated: true, transportError: null });
    });

    test('GOAWAY on an idle connection: the next push has a new one', async () => {
      const t = await setup();
      t.server.handle = (request) => {
        answer(request, under.answers.accepted);
        request.goAway();
      };
      expect(await t.send(1)).toMatchObject({ kind: 'sent' });
      expect(await t.send(2)).toMatchObject({ kind: 'sent' });
      expect(t.server.seen.map(({ connection }) => connection)).toEqual([0, 1]);
    });
  });
}

function describeHttp1<Credential>(under: ChannelUnderTest<Credential>, setup: Setup): void {
  describe(`${under.name}: HTTP/1.1`, () => {
    test('one connection serves pushes one after another', async () => {
      const t = await setup();
      await t.send(0);
      const { connections } = t.server;
      for (let i = 1; i < 5; i += 1) await t.send(i);
      expect(t.server.connections).toBe(connections);
    });

    test('a truncated answer counts by its status, and is marked as cut', async () => {
      const t = await setup();
      t.server.handle = (request) => request.write('HTTP/1.1 500 Oops\r\ncontent-length: 99\r\n\r\nabc');
      const { provider } = refusal(await t.send(1));
      expect(provider).toMatchObject({ httpStatus: 500, body: 'abc', truncated: true, transportError: null });
    });

    test.each([
      ['no HTTP at all', 'hello\r\n\r\n'],
      ['a header without end', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(100_000)}`],
      ['a length that is none', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n'],
      ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
      ['only an informational answer', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
      ['a change of protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
      ['nothing', ''],
    ])('rubbish instead of HTTP (%s) counts as a lost connection', async (_name, raw) => {
      const t = await setup();
      t.server.handle = (request) => request.write(raw);
      expect(await t.send(1)).toMatchObject({
        errorCode: 'provider_unavailable',
        provider: { httpStatus: null, transportError: 'reset' },
      });
    });
  });
}
