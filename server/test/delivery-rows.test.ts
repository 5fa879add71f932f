import { transaction } from '@carillon/postgres';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { mintUuid, type Uuid } from '../src/ground/values/ids.ts';
import type { DeliveryRow } from '../src/sending/delivery/delivery-row.ts';
import { copyDeliveries, upsertDeliveries } from '../src/sending/delivery/outcome-queries.ts';
import { setup } from './setup.ts';

const t = await setup({ workers: false });

const smallint = fc.integer({ min: -32_768, max: 32_767 });
const text = fc.string({ unit: 'binary' }).map((any) => any.toWellFormed().replaceAll('\0', ''));
const json = fc.jsonValue().map((value) => JSON.stringify(value).replaceAll('\\u0000', ''));
const orNull = <Value>(of: fc.Arbitrary<Value>) => fc.option(of, { nil: null });

/** Endings that the table's CHECKs allow. */
const ending = fc.oneof(
  fc.constant({ status: 1, errorCode: null }),
  fc.record({ status: fc.constantFrom(0, 2), errorCode: fc.integer({ min: 1, max: 12 }) }),
  fc.record({ status: fc.constant(3), errorCode: fc.integer({ min: 101, max: 105 }) }),
);

const rows = fc.array(
  fc
    .record({
      userId: orNull(fc.constant(null).map(() => mintUuid())),
      doneAtMs: fc.integer({ min: Date.UTC(1999, 0, 1), max: Date.UTC(2100, 0, 1) }),
      latencyMs: orNull(fc.integer({ min: 0, max: 2 ** 31 - 1 })),
      credentialId: orNull(smallint),
      channel: fc.constantFrom(0, 1, 2),
      attempts: fc.nat(5),
      providerStatus: orNull(smallint),
      form: orNull(smallint),
      providerRef: orNull(text),
      urls: orNull(json),
      timeline: orNull(json),
    })
    .chain((row) => ending.map((end): DeliveryRow => ({ ...row, ...end, deviceId: mintUuid() }))),
  { minLength: 1, maxLength: 40 },
);

const stored = (batchId: Uuid) => t.sql`
  SELECT device_id, user_id, done_at, latency_ms, credential_id, channel, status, error_code, attempts, provider_status, form,
    provider_ref, urls::text, timeline::text, displayed_at, clicked_at, dismissed_at, variant, action
  FROM deliveries WHERE batch_id = ${batchId} ORDER BY device_id`;

it('copied outcomes are stored like inserted ones, whatever they contain', async () => {
  await fc.assert(
    fc.asyncProperty(rows, async (some) => {
      const [copied, inserted] = [mintUuid(), mintUuid()];
      await transaction(t.sql, (tx) => copyDeliveries(tx, copied, some));
      await upsertDeliveries(t.sql, inserted, some);
      const read = await stored(copied);
      expect(read).toHaveLength(some.length);
      expect([...read]).toEqual([...(await stored(inserted))]);
    }),
    { numRuns: 40 },
  );
});

it('an existing row refuses all rows of a copy, and its transaction', async () => {
  const batchId = mintUuid();
  const [one, other] = [...fc.sample(rows, 1).flat().slice(0, 1), ...fc.sample(rows, 1).flat()];
  if (!one || !other) throw new Error('no rows');
  await upsertDeliveries(t.sql, batchId, [one]);
  const copied = transaction(t.sql, (tx) => copyDeliveries(tx, batchId, [other, one]));
  await expect(copied).rejects.toMatchObject({ code: '23505' });
  expect(await stored(batchId)).toHaveLength(1);
});
