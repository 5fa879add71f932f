// Whether a new worker takes over the batch of a killed one at once.
import { expect, it } from 'vitest';
import { mintUuid, nilUuid } from '../../src/ground/values/ids.ts';
import { createClaims } from '../../src/sending/delivery/claims.ts';
import { createOutageWatch } from '../../src/sending/delivery/outage-watch.ts';
import { claimNextBatch } from '../../src/sending/delivery/queries.ts';
import { setUpHeld } from './held.ts';

/** A batch whose lease is over, and the claims of a process that has just started. */
async function setUpKilled() {
  const t = await setUpHeld();
  await t.registerMany(60);
  await t.server.post('/v1/messages', { audience: { all: true }, content: { title: 'Still there?' } });
  const batch = await claimNextBatch(t.sql, t.clock, nilUuid, mintUuid(t.clock.nowMs()));
  t.clock.advance(21_000);
  const outages = createOutageWatch(t.clock);
  const claims = createClaims({ sql: t.sql, clock: t.clock, outages });
  const take = () =>
    claims.claim((claimId, takeOver) => claimNextBatch(t.sql, t.clock, nilUuid, claimId, [], takeOver));
  return { t, id: batch?.id, outages, take };
}

it('R-03 a new worker takes over at once while another has looked for what falls due all along', async () => {
  const { t, id, take } = await setUpKilled();
  await t.sql`
    INSERT INTO lookouts VALUES (1, gen_random_uuid(), now() + interval '2 seconds', now() - interval '7 seconds')`;
  expect((await take())?.id).toBe(id);
});

it('R-97 a new worker leaves the batch to its owner while nobody says that the database was there', async () => {
  const { t, id, take } = await setUpKilled();
  expect(await take()).toBeUndefined();
  t.clock.advance(6000);
  expect((await take())?.id).toBe(id);
});

it('R-97 a worker that noticed an outage itself does not ask whether the database was there', async () => {
  const { t, outages, take } = await setUpKilled();
  await t.sql`
    INSERT INTO lookouts VALUES (1, gen_random_uuid(), now() + interval '2 seconds', now() - interval '7 seconds')`;
  outages.noteAway();
  expect(await take()).toBeUndefined();
});
