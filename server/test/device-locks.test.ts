// Operations that lock several devices: verdicts, upserts, refreshes, erasures. All lock them in the
// order of their ids. If the database still ends one as a deadlock, it is repeated.
import { describe, expect, it } from 'vitest';
import { transaction } from '../src/database/db.ts';
import { beginHearing, recordVerdicts } from '../src/delivery/record-verdicts.ts';
import type { Hearing, Verdict } from '../src/delivery/verdict.ts';
import { countMismatches } from '../src/devices/history-queries.ts';
import { decodeId, type Uuid } from '../src/ground/ids.ts';
import { untilLockWaits } from './lock-waits.ts';
import { setup } from './setup.ts';

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

const verdictOf = (deviceId: Uuid, fields: Partial<Verdict> = {}): Verdict => ({
  deviceId,
  credentialId: 1,
  errorCode: null,
  reason: null,
  goneAtMs: null,
  environmentFound: null,
  storedAtMs: t.clock.nowMs(),
  isLocal: false,
  reaches: false,
  isDoubtful: false,
  isUnresolved: false,
  ...fields,
});

const hearingOf = (verdicts: readonly Verdict[]): Hearing => {
  return { appId: t.app.id, credentialId: 1, hasWorked: false, verdicts };
};

const statusesOf = async (uuids: readonly Uuid[]): Promise<unknown[]> => {
  const rows = await t.sql`SELECT status FROM devices WHERE id = ANY(${uuids as Uuid[]}::uuid[]) ORDER BY id`;
  return rows.map((row) => row['status']);
};

/** A database whose transactions take too long while `isSlow`. */
const withSlowTransactions = (isSlow: () => boolean) =>
  new Proxy(t.sql, {
    get(target, name) {
      if (name !== 'begin' || !isSlow()) return Reflect.get(target, name);
      return () => Promise.reject(Object.assign(new Error('too slow'), { code: '57014' }));
    },
  });

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
        hearingOf([verdictOf(second, { errorCode: 'unregistered' }), verdictOf(first, { errorCode: 'invalid_token' })]),
      );
      await untilLockWaits(t.sql, 1, { text: 'device_changes' });
      const free = await tx`SELECT id FROM devices WHERE id = ANY(${uuids}::uuid[]) FOR UPDATE SKIP LOCKED`;
      expect(free).toEqual([]);
      upserted = t.server.post('/v1/users', { external_id: 'two-reasons', first_name: 'Ada' });
      await untilLockWaits(t.sql, 1, ofRequests);
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
      const refused = [second, first].map((id) => verdictOf(id, { errorCode: 'unregistered' }));
      judged = recordVerdicts(deps, { ...hearingOf(refused), hasWorked: true });
      await untilLockWaits(t.sql, 1, { text: 'UPDATE devices' });
      expect(await tx`SELECT id FROM devices WHERE id = ${second} FOR UPDATE SKIP LOCKED`).toHaveLength(1);
    });
    await judged;
    expect(await statusesOf(uuids)).toEqual(['invalid', 'invalid']);
  });

  it('retire a device whose newest token is dead, whatever was said of a former one', async () => {
    const { uuids } = await twoDevicesOf('two-tokens');
    const [first] = uuids;
    const formerly = t.clock.nowMs() - 60_000;
    await recordVerdicts(
      deps,
      hearingOf([
        verdictOf(first, { errorCode: 'invalid_token' }),
        verdictOf(first, { errorCode: 'unregistered', storedAtMs: formerly }),
      ]),
    );
    expect(await statusesOf(uuids)).toEqual(['invalid', 'active']);
  });

  it('of a hearing that is repeated count a message without an address once', async () => {
    const { uuids } = await twoDevicesOf('no-address');
    const [first, second] = uuids;
    const hearing = hearingOf([
      verdictOf(first, { errorCode: 'provider_unavailable', isUnresolved: true }),
      verdictOf(second, { errorCode: 'unregistered' }),
    ]);
    const progress = beginHearing();
    // The count of unresolved messages is the first transaction, the retirement the second.
    const faulty = withSlowTransactions(() => progress.areUnresolvedCounted);
    await expect(recordVerdicts({ ...deps, sql: faulty }, hearing, progress)).rejects.toThrow('too slow');
    await recordVerdicts(deps, hearing, progress);
    const rows =
      await t.sql`SELECT status, unresolved_messages FROM devices WHERE id = ANY(${uuids}::uuid[]) ORDER BY id`;
    expect(rows).toMatchObject([{ status: 'active', unresolvedMessages: 1 }, { status: 'invalid' }]);
  });

  it('retire no device when they are repeated after their credential became suspect', async () => {
    const { uuids } = await twoDevicesOf('suspect-since');
    const refused = uuids.map((id) => verdictOf(id, { errorCode: 'invalid_token' }));
    const hearing = { ...hearingOf(refused), hasWorked: true };
    const progress = beginHearing();
    const faulty = withSlowTransactions(() => true);
    await expect(recordVerdicts({ ...deps, sql: faulty }, hearing, progress)).rejects.toThrow('too slow');
    await t.sql`UPDATE credentials SET state = 'suspect', suspect_since = now()`;
    await recordVerdicts(deps, { ...hearing, hasWorked: false }, progress);
    expect(await statusesOf(uuids)).toEqual(['active', 'active']);
    await t.sql`UPDATE credentials SET state = 'ok', suspect_since = NULL`;
  });

  it('retire a device for the reason that no credential can be at fault for, whether a provider was asked or not', async () => {
    const { uuids } = await twoDevicesOf('two-words');
    const [first, second] = uuids;
    await recordVerdicts(
      deps,
      hearingOf([
        verdictOf(first, { errorCode: 'unregistered', isLocal: true }),
        verdictOf(second, { errorCode: 'unregistered' }),
        ...uuids.map((id) => verdictOf(id, { errorCode: 'invalid_token' })),
      ]),
    );
    const changes = await t.sql`
      SELECT status_reason, c.credential_id FROM devices d JOIN device_changes c ON c.device_id = d.id
      WHERE d.id = ANY(${uuids}::uuid[]) AND c.status = 'invalid'`;
    expect(changes).toEqual(Array(2).fill({ statusReason: 'unregistered', credentialId: null }));
  });

  it('reset the count of mismatches after a success, without writing to a device that has none', async () => {
    const { uuids } = await twoDevicesOf('mismatched');
    const [first, second] = uuids;
    await transaction(t.sql, (tx) =>
      countMismatches(tx, t.app.id, [{ deviceId: first, storedAtMs: t.clock.nowMs() }], 3),
    );
    const versionsOf = () =>
      t.sql`SELECT id, mismatches, xmin::text FROM devices WHERE id = ANY(${uuids}::uuid[]) ORDER BY id`;
    const before = await versionsOf();
    await recordVerdicts(deps, hearingOf(uuids.map((id) => verdictOf(id))));
    const after = await versionsOf();
    expect(after.map((row) => row['mismatches'])).toEqual([0, 0]);
    expect(after.find((row) => row['id'] === second)).toEqual(before.find((row) => row['id'] === second));
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
    await t.sql.begin(async (tx) => {
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
