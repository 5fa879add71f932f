import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ApiError } from './api-error.ts';
import { createCursors, pageQuery, toPage } from './page.ts';
import { validate } from './validate.ts';

const clock = { nowMs: () => Date.UTC(2026, 10, 28) };
const cursors = createCursors(Buffer.alloc(32, 7), clock);
const scope = ['app', '/v1/messages', null];
const refused = 'cursor: invalid_value';
const read = (cursor: string, by = cursors, under: readonly unknown[] = scope): unknown => {
  try {
    return by.read(cursor, under);
  } catch (error) {
    return error instanceof ApiError ? error.details.issues?.map(({ path, code }) => `${path}: ${code}`).join() : error;
  }
};

describe('cursors', () => {
  it.each([[['2026-11-21 10:15:29.800123+00', 'a-uuid']], [['key']], [[1, -2.5, 'ü🔔']], [[]]])(
    'bring a position back: %j',
    (position) => {
      expect(read(cursors.write(position, scope))).toEqual(position);
    },
  );

  it('are the same for the same position, and fit into an address as they are', () => {
    const cursor = cursors.write(['x?&=/+ü', 1], scope);
    expect(cursors.write(['x?&=/+ü', 1], scope)).toBe(cursor);
    expect(encodeURIComponent(cursor)).toBe(cursor);
  });

  it('are refused when one character is another, missing or added', () => {
    const cursor = cursors.write(['2026-11-21', 'id'], scope);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/';
    for (let at = 0; at < cursor.length; at++) {
      for (const other of alphabet) {
        if (other === cursor[at]) continue;
        expect(read(cursor.slice(0, at) + other + cursor.slice(at + 1))).toBe(refused);
      }
      expect(read(cursor.slice(0, at) + cursor.slice(at + 1))).toBe(refused);
      expect(read(`${cursor.slice(0, at)}A${cursor.slice(at)}`)).toBe(refused);
    }
  });

  it.each(['', '.', 'a', 'a.', '.a', 'a.b', 'a.b.c', '\u0000', 'ü.ü', '%', 'a'.repeat(99)])('%j is none', (cursor) => {
    expect(read(cursor)).toBe(refused);
  });

  it('belong to their app, their list, their filters and their service', () => {
    const cursor = cursors.write(['id'], scope);
    const others = [
      ['other app', '/v1/messages', null],
      ['app', '/v1/devices', null],
      ['app', '/v1/messages', 'sent'],
      ['app', '/v1/messages'],
      ['app', '/v1/messages', null, null],
      [],
    ];
    for (const other of others) expect(read(cursor, cursors, other)).toBe(refused);
    expect(read(cursor, createCursors(Buffer.alloc(32, 8), clock))).toBe(refused);
    expect(read(cursor, createCursors(Buffer.alloc(32, 7), clock))).toEqual(['id']);
  });

  it('cannot be made to belong elsewhere by moving the border between scope and position', () => {
    expect(cursors.write(['b'], ['a\n'])).not.toBe(cursors.write(['b'], ['a']));
  });
});

describe('the limit of a page', () => {
  const query = z.strictObject(pageQuery(200));
  const limitOf = (limit?: string) => {
    try {
      return validate(query, limit === undefined ? {} : { limit }).limit;
    } catch (error) {
      return (error as { details: { issues: { code: string; path: unknown }[] } }).details.issues.map(
        ({ code, path }) => `${path}: ${code}`,
      );
    }
  };

  it.each<[string | undefined, unknown]>([
    [undefined, 50],
    ['1', 1],
    ['200', 200],
    ['007', ['limit: invalid_format']],
    ['0050', ['limit: invalid_format']],
    ['00', ['limit: invalid_format']],
    ['0', ['limit: too_small']],
    ['201', ['limit: too_big']],
    ['999999999', ['limit: too_big']],
    ['9999999999', ['limit: invalid_format']],
    ['', ['limit: invalid_format']],
    ['-1', ['limit: invalid_format']],
    ['+1', ['limit: invalid_format']],
    ['1.5', ['limit: invalid_format']],
    ['1e1', ['limit: invalid_format']],
    ['0x10', ['limit: invalid_format']],
    [' 1', ['limit: invalid_format']],
    ['1\n', ['limit: invalid_format']],
    ['١', ['limit: invalid_format']],
    ['ten', ['limit: invalid_format']],
  ])('%j: %j', (text, answer) => {
    expect(limitOf(text)).toEqual(answer);
  });
});

describe('toPage', () => {
  const page = (rows: readonly number[], limit: number) =>
    toPage(
      rows,
      limit,
      (row) => `row ${row}`,
      (last) => `after ${last}`,
    );

  it.each<[string, readonly number[], number, ReturnType<typeof page>]>([
    ['no rows', [], 2, { data: [], has_more: false, next_cursor: null }],
    ['fewer than the page holds', [1], 2, { data: ['row 1'], has_more: false, next_cursor: null }],
    ['just as many', [1, 2], 2, { data: ['row 1', 'row 2'], has_more: false, next_cursor: null }],
    ['one more', [1, 2, 3], 2, { data: ['row 1', 'row 2'], has_more: true, next_cursor: 'after 2' }],
  ])('%s', (_what, rows, limit, answer) => {
    expect(page(rows, limit)).toEqual(answer);
    expect(Object.keys(page(rows, limit))).toEqual(['data', 'has_more', 'next_cursor']);
  });
});
