import { expect, it } from 'vitest';
import { checkPooling } from '../src/pooling.ts';
import { createTestDatabase } from './database.ts';

it('R-98 a database with a session per connection causes no warning; the proof tests poolers', async () => {
  const { url } = await createTestDatabase();
  expect(await checkPooling(url)).toBeUndefined();
});
