import { expect, it } from 'vitest';
import { compile, createTag, type Row, type Rows, type Statement } from './statement.ts';

function setUp() {
  const run: Statement<readonly unknown[]>[] = [];
  const sql = createTag(async (statement) => {
    run.push(statement);
    return Object.assign([{ n: run.length }], { count: 1 }) as Rows<Row[]>;
  });
  const textOf = (statement: Statement<readonly unknown[]>) => {
    const { text, values } = compile(statement);
    return [text, ...values];
  };
  return { run, sql, textOf };
}

it('A statement takes values as parameters, and nested statements, names and assignments as text', () => {
  const { sql, textOf } = setUp();
  const isMine = sql`app = ${'app_1'}`;
  expect(textOf(sql`SELECT ${sql(['id', 'a"b'])} FROM ${sql('public.devices')} WHERE ${isMine} AND n > ${5}`)).toEqual([
    'SELECT "id", "a""b" FROM "public"."devices" WHERE app = $1 AND n > $2',
    'app_1',
    '5',
  ]);
  const either = [sql`n = ${1}`, sql`OR n = ${2}`];
  expect(textOf(sql`SELECT (${either})`)).toEqual(['SELECT ( n = $1 OR n = $2)', '1', '2']);
  const columns = { lastSeenAt: sql`now()`, name: 'x', overflow: sql.json({}) };
  expect(textOf(sql`UPDATE t SET ${sql(columns)} WHERE id = ${1}`)).toEqual([
    'UPDATE t SET "last_seen_at" = now(), "name" = $1, "overflow" = $2 WHERE id = $3',
    'x',
    '{}',
    '1',
  ]);
});

it('A statement takes items as rows, a column for each property, and refuses an item that lacks one', () => {
  const { sql, textOf } = setUp();
  const item = { userId: '01', count: 2, name: 'a "b"', seenAt: new Date(0), isNew: true, facts: { a: null } };
  const items = [item, { userId: null, count: null, name: null, seenAt: null, isNew: null, facts: null }];
  const columns = {
    uuid: ['userId'],
    int: ['count'],
    text: ['name'],
    timestamptz: ['seenAt'],
    boolean: ['isNew'],
    json: ['facts'],
  } as const;
  expect(textOf(sql`SELECT * FROM ${sql.rows('r', columns, items)}`)).toEqual([
    'SELECT * FROM unnest($1::uuid[], $2::int[], $3::text[], $4::timestamptz[], $5::boolean[], $6::json[]) ' +
      'AS r (user_id, count, name, seen_at, is_new, facts)',
    ...['{01,null}', '{2,null}', '{"a \\"b\\"",NULL}', '{"1970-01-01T00:00:00.000Z",NULL}', '{"t",NULL}'],
    '{"{\\"a\\":null}",NULL}',
  ]);
  const lacking = [{ userId: undefined }];
  expect(() => compile(sql`SELECT FROM ${sql.rows('r', { uuid: ['userId'] }, lacking)}`)).toThrow(/undefined/);
});

it('A statement runs once, when it is first awaited, and not when it is nested', async () => {
  const { run, sql } = setUp();
  const inner = sql`SELECT 1`;
  const outer = sql`SELECT ${inner}`;
  expect(run).toEqual([]);
  expect([...(await outer)]).toEqual([{ n: 1 }]);
  expect([...(await outer)]).toEqual([{ n: 1 }]);
  expect(run).toEqual([outer]);
});

it('A statement whose value is missing is refused before it is sent', () => {
  const { sql } = setUp();
  expect(() => compile(sql`SELECT ${undefined as never}`)).toThrow(/undefined/);
});

it('A statement knows the lines of code where it is written', () => {
  const { sql } = setUp();
  expect(compile(sql`SELECT 1`).origin).toMatch(/statement\.test\.ts/);
});
