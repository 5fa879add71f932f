// Many concurrent claims: which claim gets which batch.
import { expect, it } from 'vitest';
import { mintUuid, nilUuid } from '../../src/ground/values/ids.ts';
import { claimNextBatch } from '../../src/sending/delivery/queries.ts';
import { setup } from '../setup.ts';

it('R-17 with 1,000 concurrent claims each batch has one holder, and no claim gets more than one', async () => {
  const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
  const [apps, messages] = [4, 15];
  for (let i = 0; i < apps; i++) {
    const app = await t.newApp();
    // More than the accepting process works itself.
    await t.registerMany(60, app);
    const send = () =>
      t.clientOf(app.serverKey).post('/v1/messages', { audience: { all: true }, content: { title: 'Sale' } });
    await Promise.all(Array.from({ length: messages }, send));
  }
  const batches = await t.sql<{ id: string }[]>`SELECT id FROM batches WHERE state = 'waiting'`;
  expect(batches).toHaveLength(apps * messages);
  const claims = await Promise.all(
    Array.from({ length: 1_000 }, () => claimNextBatch(t.sql, t.clock, nilUuid, mintUuid())),
  );
  const held = claims.flatMap((batch) => (batch ? [batch.id] : []));
  expect(held.sort()).toEqual(batches.map(({ id }) => id).sort());
  expect(
    await t.sql`SELECT count(*)::int AS many, max(claims)::int AS most FROM batches WHERE claim_id IS NOT NULL`,
  ).toEqual([{ many: apps * messages, most: 1 }]);
});
