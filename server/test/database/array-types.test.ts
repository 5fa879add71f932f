// In a file of its own, because everything later in the same process knows the types that one pool
// has learned.
import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { openPool } from '../../src/database/db.ts';
import { isTypesQuestion } from '../../src/database/driver-repairs.ts';
import { createTestDatabase } from '../database.ts';

it('R-06 after one pool has learned the array types, no other pool asks: a lost answer to that question would end the process', async () => {
  const settings = { connectionsMax: 1, name: 'carillon', statementTimeoutMs: 10_000 };
  const asks = (sql: { readonly options: object }) => (sql.options as { fetch_types: boolean }).fetch_types;
  const { url, sql } = await createTestDatabase();
  const another = openPool({ url, ...settings });
  onTestFinished(() => another.end({ timeout: 1 }));
  expect([asks(sql), asks(another)]).toEqual([false, false]);
  expect(await another`SELECT ${['a', 'b']}::text[] AS words, ${[1, 2]}::int[] AS numbers`).toEqual([
    { words: ['a', 'b'], numbers: [1, 2] },
  ]);
});

it("R-06 the driver's question is recognised by its text, and no other statement is taken for it", () => {
  const driver = readFileSync(new URL('../../../node_modules/postgres/src/connection.js', import.meta.url), 'utf8');
  const [, query] = /fetchArrayTypes\(\)[\s\S]*?new Query\(\[`([\s\S]*?)`\]/.exec(driver) ?? [];
  expect(isTypesQuestion(Object.assign(new Error('read ECONNRESET'), { query }))).toBe(true);
  expect(isTypesQuestion(Object.assign(new Error('read ECONNRESET'), { query: 'SELECT 1' }))).toBe(false);
  expect(isTypesQuestion(new Error('read ECONNRESET'))).toBe(false);
  expect(isTypesQuestion(undefined)).toBe(false);
});
