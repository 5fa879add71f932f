import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../ground/http/api-error.ts';
import { validate } from '../../ground/http/validate.ts';
import { canonicalTextOf, fingerprintOf, isFinalStatus, messageRequestSchema, reportOf } from './message.ts';

const audience = { all: true } as const;
const content = { title: 'Sale', body: 'Now on' };
const parse = (text: string) => validate(messageRequestSchema, JSON.parse(text));
const fingerprint = (text: string): string => fingerprintOf(parse(text)).toString('hex');

describe('the fingerprint of a request', () => {
  // The vector of contract 16.
  const vector = {
    request:
      '{"content":{"title":"Sale","body":"Now on"},"audience":{"all":true},"send_at":"2026-12-01T09:00:00+01:00"}',
    canonical:
      '{"audience":{"all":true},"content":{"body":"Now on","title":"Sale"},"send_at":"2026-12-01T08:00:00.000Z"}',
    sha256: 'f28eeec44d3562122712a959f50ba3e1494fff42700094c1655e3fa75c4a715f',
  };

  it('is that of the published vector', () => {
    expect(canonicalTextOf(parse(vector.request))).toBe(vector.canonical);
    expect(fingerprint(vector.request)).toBe(vector.sha256);
    expect(createHash('sha256').update(vector.canonical).digest('hex')).toBe(vector.sha256);
  });

  it.each([
    ['another order of keys', '{"content":{"body":"Now on","title":"Sale"},"audience":{"all":true}}'],
    ['white space', '{ "audience" : {\n"all":true} ,"content": {"title":"Sale","body":"Now on"} }'],
    ['escapes', '{"audience":{"all":true},"content":{"title":"\\u0053ale","body":"Now on"}}'],
    [
      'nulls at the top',
      '{"audience":{"all":true},"content":{"title":"Sale","body":"Now on"},"name":null,"metadata":null,"send_at":null}',
    ],
    ['dry_run that is false', '{"audience":{"all":true},"content":{"title":"Sale","body":"Now on"},"dry_run":false}'],
    ['dry_run that is null', '{"audience":{"all":true},"content":{"title":"Sale","body":"Now on"},"dry_run":null}'],
    [
      'a key given twice',
      '{"audience":{"device_ids":["x"]},"audience":{"all":true},"content":{"title":"Sale","body":"Now on"}}',
    ],
  ])('is not changed by %s', (_what, text) => {
    expect(fingerprint(text)).toBe(fingerprint(JSON.stringify({ audience, content })));
  });

  it.each(['2026-12-01T08:00Z', '2026-12-01T08:00:00.0009Z', '2026-12-01T13:30:00+05:30', '2026-11-30T22:00:00-10:00'])(
    'is not changed by send_at spelled %s',
    (sendAt) => {
      const spelled = vector.request.replace('2026-12-01T09:00:00+01:00', sendAt);
      expect(fingerprint(spelled)).toBe(vector.sha256);
    },
  );

  it.each([
    ['a send_at', { audience, content, send_at: '2026-12-01T08:00:00Z' }],
    ['a local time', { audience, content, send_at: '2026-12-01T08:00:00Z', local_time: true }],
    ['its wall', { audience, content, send_at: '2026-12-01T09:00:00+01:00', local_time: true }],
    [
      'what becomes of its past',
      { audience, content, send_at: '2026-12-01T08:00Z', local_time: true, local_time_past: 'now' },
    ],
    ['another title', { audience, content: { ...content, title: 'Sale!' } }],
    ['another audience', { audience: { device_ids: ['x'] }, content }],
    ['the order of a list', { audience: { device_ids: ['b', 'a'] }, content }],
    ['a name', { audience, content, name: 'Autumn' }],
    ['an empty name', { audience, content, name: '' }],
    ['metadata', { audience, content, metadata: { campaign: 1 } }],
    ['metadata of another type', { audience, content, metadata: { campaign: '1' } }],
    ['metadata under a name that objects have', { audience, content, metadata: JSON.parse('{"__proto__":"1"}') }],
    ['a channel', { audience, content: { ...content, apns: { sound: 'bell.caf' } } }],
    ['null inside of the content', { audience, content: { ...content, apns: { body: null } } }],
  ])('is changed by %s', (_what, request) => {
    const known = [
      { audience, content },
      { audience: { device_ids: ['a', 'b'] }, content },
    ].map((one) => fingerprint(JSON.stringify(one)));
    expect(known).not.toContain(fingerprint(JSON.stringify(request)));
  });

  it('is of 32 bytes, and leaves the request as it was', () => {
    const request = Object.freeze({ audience, content: Object.freeze(content), dry_run: false, name: null });
    expect(fingerprintOf(request)).toHaveLength(32);
    expect(Object.keys(request)).toEqual(['audience', 'content', 'dry_run', 'name']);
  });
});

describe('metadata', () => {
  const issuesOf = (metadata: unknown): unknown => {
    try {
      return validate(messageRequestSchema, { audience, content, metadata }).metadata;
    } catch (error) {
      return error instanceof ApiError
        ? error.details.issues?.map(({ path, code }) => `${path.join('.')}: ${code}`)
        : error;
    }
  };
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));

  it.each<[string, unknown, unknown]>([
    ['strings, numbers and booleans', { a: 'x', b: 1.5, c: false }, { a: 'x', b: 1.5, c: false }],
    ['nothing in it', {}, {}],
    ['null', null, null],
    ['ten keys', keys(10), keys(10)],
    ['a key of 64 of the allowed characters', { ['aZ0_.-'.padEnd(64, 'x')]: 1 }, { ['aZ0_.-'.padEnd(64, 'x')]: 1 }],
    ['512 characters', { a: 'x'.repeat(512) }, { a: 'x'.repeat(512) }],
    ['eleven keys', keys(11), ['metadata: too_big']],
    ['a key of 65', { ['x'.repeat(65)]: 1 }, [`metadata.${'x'.repeat(65)}: invalid_format`]],
    ['an empty key', { '': 1 }, ['metadata.: invalid_format']],
    ['a key with a space', { 'a b': 1 }, ['metadata.a b: invalid_format']],
    ['513 characters', { a: 'x'.repeat(513) }, ['metadata.a: too_big']],
    ['null under a key', { a: null }, ['metadata.a: invalid_type']],
    ['a list under a key', { a: [] }, ['metadata.a: invalid_type']],
    ['an object under a key', { a: {} }, ['metadata.a: invalid_type']],
    ['a list', [], ['metadata: invalid_type']],
    ['a string', 'x', ['metadata: invalid_type']],
    ['a number', 1, ['metadata: invalid_type']],
  ])('%s', (_what, given, answer) => {
    expect(issuesOf(given)).toEqual(answer);
  });

  it('R-72 keeps names that objects have by themselves', () => {
    const given = JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}');
    expect(Object.entries(issuesOf(given) as object)).toEqual(Object.entries(given));
  });
});

describe('a report', () => {
  it.each([
    [{ accepted: 3, sent: 2, failed: 1, skipped: 0 }, undefined],
    [{ accepted: 0, sent: 0, failed: 0, skipped: 0 }, undefined],
    [{ accepted: 3, sent: 1, failed: 0, skipped: 1 }, 1],
    [{ accepted: 3, sent: 0, failed: 0, skipped: 0 }, 3],
  ])('of %j has pending: %s', (counts, pending) => {
    const report = reportOf(counts);
    expect(report).toEqual({ ...counts, ...(pending !== undefined && { pending }) });
    expect(report.accepted).toBe(report.sent + report.failed + report.skipped + (report.pending ?? 0));
    expect('pending' in report).toBe(pending !== undefined);
  });
});

describe('a status', () => {
  it.each([
    ['scheduled', false],
    ['sending', false],
    ['sent', true],
    ['failed', true],
    ['canceled', true],
  ] as const)('%s is final: %s', (status, answer) => {
    expect(isFinalStatus(status)).toBe(answer);
  });
});
