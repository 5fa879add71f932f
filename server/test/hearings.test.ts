// What the verdicts of one hearing change of devices, and what a hearing changes that is repeated.

import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { decodeId, mintUuid, type Uuid } from '../src/ground/values/ids.ts';
import { countMismatches } from '../src/people/devices/history-queries.ts';
import { recordVerdicts } from '../src/sending/delivery/record-verdicts.ts';
import type { Hearing, Verdict } from '../src/sending/delivery/verdict.ts';
import { withFaultyBegin } from './faulty-begin.ts';
import { setup } from './setup.ts';
import { verdictOf } from './verdict-of.ts';

const t = await setup({ workers: false });
const deps = { sql: t.sql, clock: t.clock, log: t.service.run.log };

/** Two devices, in the order of their ids. */
async function twoDevices(): Promise<[Uuid, Uuid]> {
  const ids = [await t.registerDevice(), await t.registerDevice()];
  const [first = '', second = ''] = ids.map((id) => decodeId('dev', id) ?? '').sort();
  return [first, second];
}

const hearingOf = (verdicts: readonly Verdict[]): Hearing => {
  return { id: mintUuid(), appId: t.app.id, credentialId: 1, hasWorked: false, verdicts };
};

const statusesOf = async (uuids: readonly Uuid[]): Promise<unknown[]> => {
  const rows = await t.sql`SELECT status FROM devices WHERE id = ANY(${uuids as Uuid[]}::uuid[]) ORDER BY id`;
  return rows.map((row) => row['status']);
};

const tooSlow = () => Promise.reject(Object.assign(new Error('too slow'), { code: '57014' }));

describe('verdicts', () => {
  it('retire a device whose newest token is dead, whatever was said of a former one', async () => {
    const uuids = await twoDevices();
    const [first] = uuids;
    const formerly = t.clock.nowMs() - 60_000;
    await recordVerdicts(
      deps,
      hearingOf([
        verdictOf(t, first, { errorCode: 'invalid_token' }),
        verdictOf(t, first, { errorCode: 'unregistered', storedAtMs: formerly }),
      ]),
    );
    expect(await statusesOf(uuids)).toEqual(['invalid', 'active']);
  });

  it('of a hearing that is repeated count once', async () => {
    const uuids = await twoDevices();
    const [first, second] = uuids;
    const refusedNow = async () =>
      (await t.sql`SELECT sum(refused)::int AS refused FROM credential_minutes`)[0]?.['refused'];
    const before = await refusedNow();
    const hearing = hearingOf([
      verdictOf(t, first, { errorCode: 'provider_unavailable', isUnresolved: true }),
      verdictOf(t, second, { errorCode: 'unregistered' }),
    ]);
    await Promise.all([recordVerdicts(deps, hearing), recordVerdicts(deps, hearing)]);
    await recordVerdicts(deps, hearing);
    const rows =
      await t.sql`SELECT status, unresolved_messages FROM devices WHERE id = ANY(${uuids}::uuid[]) ORDER BY id`;
    expect(rows).toMatchObject([{ status: 'active', unresolvedMessages: 1 }, { status: 'invalid' }]);
    expect(await refusedNow()).toBe(before + 2);
  });

  it('count nothing where their hearing breaks off', async () => {
    const uuids = await twoDevices();
    const [first, second] = uuids;
    const hearing = hearingOf([
      verdictOf(t, first, { errorCode: 'provider_unavailable', isUnresolved: true }),
      verdictOf(t, second, { errorCode: 'unregistered' }),
    ]);
    const broken = withFaultyBegin(t.sql, 1, (work) =>
      t.sql.begin(async (tx, atEnd) => {
        await work(tx, atEnd);
        return tooSlow();
      }),
    );
    await expect(recordVerdicts({ ...deps, sql: broken }, hearing)).rejects.toThrow('too slow');
    expect(await statusesOf(uuids)).toEqual(['active', 'active']);
    await recordVerdicts(deps, hearing);
    const rows =
      await t.sql`SELECT status, unresolved_messages FROM devices WHERE id = ANY(${uuids}::uuid[]) ORDER BY id`;
    expect(rows).toMatchObject([{ status: 'active', unresolvedMessages: 1 }, { status: 'invalid' }]);
  });

  it('retire no device when they are repeated after their credential became suspect', async () => {
    const uuids = await twoDevices();
    const refused = uuids.map((id) => verdictOf(t, id, { errorCode: 'invalid_token' }));
    const hearing = { ...hearingOf(refused), hasWorked: true };
    const faulty = withFaultyBegin(t.sql, 1, tooSlow);
    await expect(recordVerdicts({ ...deps, sql: faulty }, hearing)).rejects.toThrow('too slow');
    await t.sql`UPDATE credentials SET state = 'suspect', suspect_since = now()`;
    await recordVerdicts(deps, { ...hearing, hasWorked: false });
    expect(await statusesOf(uuids)).toEqual(['active', 'active']);
    await t.sql`UPDATE credentials SET state = 'ok', suspect_since = NULL`;
  });

  it('retire a device for the reason that no credential can be at fault for, whether a provider was asked or not', async () => {
    const uuids = await twoDevices();
    const [first, second] = uuids;
    // All are about the same token.
    const storedAtMs = t.clock.nowMs();
    await recordVerdicts(
      deps,
      hearingOf([
        verdictOf(t, first, { errorCode: 'unregistered', isLocal: true, storedAtMs }),
        verdictOf(t, second, { errorCode: 'unregistered', storedAtMs }),
        ...uuids.map((id) => verdictOf(t, id, { errorCode: 'invalid_token', storedAtMs })),
      ]),
    );
    const changes = await t.sql`
      SELECT status_reason, c.credential_id FROM devices d JOIN device_changes c ON c.device_id = d.id
      WHERE d.id = ANY(${uuids}::uuid[]) AND c.status = 'invalid'`;
    expect(changes).toEqual(Array(2).fill({ statusReason: 'unregistered', credentialId: null }));
  });

  it('reset the count of mismatches after a success, without writing to a device that has none', async () => {
    const uuids = await twoDevices();
    const [first, second] = uuids;
    await transaction(t.sql, (tx) =>
      countMismatches(tx, t.app.id, [{ deviceId: first, storedAtMs: t.clock.nowMs() }], 3),
    );
    const versionsOf = () =>
      t.sql`SELECT id, mismatches, xmin::text FROM devices WHERE id = ANY(${uuids}::uuid[]) ORDER BY id`;
    const before = await versionsOf();
    await recordVerdicts(deps, hearingOf(uuids.map((id) => verdictOf(t, id))));
    const after = await versionsOf();
    expect(after.map((row) => row['mismatches'])).toEqual([0, 0]);
    expect(after.find((row) => row['id'] === second)).toEqual(before.find((row) => row['id'] === second));
  });
});
