// Operations that lock several devices: verdicts, upserts, refreshes, erasures. All lock them in the
// order of their ids. If the database still ends one as a deadlock, it is repeated.
import { describe, expect, it } from 'vitest';
import { openAsSuperuser } from '../../packages/postgres/test/database.ts';
import { decodeId, mintUuid, type Uuid } from '../src/ground/values/ids.ts';
import { recordVerdicts } from '../src/sending/delivery/record-verdicts.ts';
import type { Hearing, Verdict } from '../src/sending/delivery/verdict.ts';
import { untilLockWaits, untilUndone } from './lock-waits.ts';
import { setup } from './setup.ts';
import { verdictOf } from './verdict-of.ts';

const t = await setup({ workers: false });
const deps = { sql: t.sql, clock: t.clock, log: t.service.run.log };

const ofRequests = { name: 'carillon transactions' };

/** Two devices of one user, in the order of their ids. */
async function twoDevicesOf(external_id: string): Promise<{ ids: string[]; uuids: [Uuid, Uuid] }> {
  const ids: string[] = [];
  for (let i = 0; i < 2; i++) {
    const device_id = await t.registerDevice();
    await t.server.post('/v1/users', { external_id, device_id });
    ids.push(device_id);
  }
  ids.sort();
  const [first = '', second = ''] = ids.map((id) => decodeId('dev', id) ?? '').sort();
  return { ids, uuids: [first, second] };
}

const hearingOf = (verdicts: readonly Verdict[]): Hearing => {
  return { id: mintUuid(), appId: t.app.id, credentialId: 1, hasWorked: false, verdicts };
};

const statusesOf = async (uuids: readonly Uuid[]): Promise<unknown[]> => {
  const rows = await t.sql`SELECT status FROM devices WHERE id = ANY(${uuids as Uuid[]}::uuid[]) ORDER BY id`;
  return rows.map((row) => row['status']);
};

describe('verdicts', () => {
  it('lock all devices that they may change before they change the first, whatever the reasons are', async () => {
    const { uuids } = await twoDevicesOf('two-reasons');
    const [first, second] = uuids;
    let judged: Promise<void> | undefined;
    let upserted: ReturnType<typeof t.server.post> | undefined;
    await t.sql.begin(async (tx) => {
      // The history cannot be written, so the verdicts stop in the middle of their transaction.
      await tx`LOCK TABLE device_changes IN SHARE MODE`;
      judged = recordVerdicts(
        deps,
        hearingOf([
          verdictOf(t, second, { errorCode: 'unregistered' }),
          verdictOf(t, first, { errorCode: 'invalid_token' }),
        ]),
      );
      await untilLockWaits(t.sql, 1, { text: 'device_changes' });
      const free = await tx`SELECT id FROM devices WHERE id = ANY(${uuids}::uuid[]) FOR UPDATE SKIP LOCKED`;
      expect(free).toEqual([]);
      upserted = t.server.post('/v1/users', { external_id: 'two-reasons', first_name: 'Ada' });
      await untilUndone(t.sql);
    });
    await judged;
    expect(await upserted).toMatchObject({ status: 200, body: { first_name: 'Ada', devices: [] } });
    expect(await statusesOf(uuids)).toEqual(['invalid', 'invalid']);
  });

  it('wait for the first device in the order of ids without a lock on a later one, however they are listed', async () => {
    const { uuids } = await twoDevicesOf('in-order');
    const [first, second] = uuids;
    // Its new version lies behind the other device, and the planner learns that the table is small. A
    // walk over the table would be the fastest plan, and would meet this device last.
    await t.sql`UPDATE devices SET mismatches = 0 WHERE id = ${first}`;
    await t.sql`ANALYZE devices`;
    let judged: Promise<void> | undefined;
    await t.sql.begin(async (tx) => {
      await tx`SELECT 1 FROM devices WHERE id = ${first} FOR UPDATE`;
      const refused = [second, first].map((id) => verdictOf(t, id, { errorCode: 'unregistered' }));
      judged = recordVerdicts(deps, { ...hearingOf(refused), hasWorked: true });
      await untilLockWaits(t.sql, 1, { text: 'UPDATE devices' });
      expect(await tx`SELECT id FROM devices WHERE id = ${second} FOR UPDATE SKIP LOCKED`).toHaveLength(1);
    });
    await judged;
    expect(await statusesOf(uuids)).toEqual(['invalid', 'invalid']);
  });
});

describe('a request that the database ends as a deadlock', () => {
  it.each([
    ['an upsert', (id: string) => t.server.post('/v1/users', { external_id: id, country: 'DE' })],
    ['a registration', (id: string) => t.server.post('/v1/devices', { platform: 'android', token: id, model: 'M' })],
    ['an opt-out', (_id: string, device: string) => t.server.delete(`/v1/devices/${device}`)],
    ['an erasure', (id: string) => t.server.delete(`/v1/users/${id}`)],
    [
      'a log-in',
      (id: string, device_id: string) => t.server.post('/v1/identify', { device_id, external_id: `${id}-2` }),
    ],
  ])('is repeated and succeeds: %s', async (name, request) => {
    const external_id = name.replace(' ', '-');
    const { body } = await t.server.post('/v1/devices', { platform: 'android', token: external_id });
    await t.server.post('/v1/users', { external_id, device_id: body.id });
    const id = decodeId('dev', body.id) ?? '';
    let answer: ReturnType<typeof request> | undefined;
    const admin = await openAsSuperuser(t.sql);
    await admin.begin(async (tx) => {
      // This transaction's deadlock timeout is long, so the database ends the request.
      await tx`SET LOCAL deadlock_timeout = '1h'`;
      await tx`SELECT 1 FROM audience WHERE device_id = ${id} FOR UPDATE`;
      answer = request(external_id, body.id);
      await untilLockWaits(t.sql, 1, ofRequests);
      await tx`SELECT 1 FROM devices WHERE id = ${id} FOR UPDATE`;
    });
    expect(await answer).toMatchObject({ status: 200 });
  });
});
