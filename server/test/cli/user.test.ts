import { expect, it } from 'vitest';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();

it.each(['u-1', '.', '..', 'a/b?c'])('user erase erases the person with the external id %j', async (id) => {
  const { publicId, id: appId } = await cli.newApp('Erasing');
  await cli.sql`INSERT INTO people (app_id, external_id, user_id) VALUES (${appId}, ${id}, gen_random_uuid())`;
  await cli.sql`
    INSERT INTO users (app_id, external_id, id, properties)
    SELECT app_id, external_id, user_id, '{}' FROM people WHERE app_id = ${appId}`;
  expect(await cli.json('user', 'erase', publicId, id)).toEqual({
    external_id: id,
    deleted: true,
    devices_removed: 0,
  });
  expect(await cli.sql`SELECT 1 FROM users WHERE app_id = ${appId}`).toHaveLength(0);
  expect(await cli.run('user', 'erase', publicId, id)).toMatchObject(refusal(/has no user/));
});
