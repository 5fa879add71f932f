import { expect, it } from 'vitest';
import { checkPooling } from '../../src/platform/pooling.ts';
import { createTestDatabase } from '../database.ts';

it('R-98 of a database whose sessions are each of their own nothing is said; poolers are tried by the proof', async () => {
  const { url } = await createTestDatabase();
  expect(await checkPooling(url)).toBeUndefined();
});
