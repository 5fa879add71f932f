import { expect, it } from 'vitest';
import { createTestDatabase } from '../test/database.ts';
import { bareArray } from './array-text.ts';

const { sql } = await createTestDatabase();

it('numbers and UUIDs come back as they were', async () => {
  const numbers = [0, -1, 1.5, 1e21, 5e-324, 1_763_720_130_123, null];
  const ids = ['0192f3a4-7b6c-4d5e-8f90-1a2b3c4d5e6f', null];
  const [row] =
    await sql`SELECT to_json(${bareArray(numbers)}::float8[]) AS numbers, to_json(${bareArray(ids)}::uuid[]) AS ids`;
  expect(row).toEqual({ numbers, ids });
  expect(await sql`SELECT cardinality(${bareArray([])}::uuid[]) AS none`).toEqual([{ none: 0 }]);
});
