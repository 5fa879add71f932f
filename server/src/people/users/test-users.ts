// The test users of an app: up to 20 people and devices that see a message before everybody else
// does (contract 19).
import { isDeepStrictEqual } from 'node:util';
import { type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { type Audited, recordAudit } from '../../teams/audit/record-audit.ts';
import { findTestUsers, insertTestUsers, lockTestUsers, type TestUsers, updateTestUsers } from './test-user-queries.ts';

export const testUsersMax = 20;
/** Newest devices of a test user that a test reaches: a guess, more than one person carries. */
export const testDevicesOfUserMax = 10;

/**
 * Replaces the list. `checkSeen` gets the present state (null: no list yet), and throws if the
 * writer has not seen it.
 */
export async function replaceTestUsers(
  deps: Audited & { readonly sql: Sql; readonly clock: Clock },
  appId: Uuid,
  list: Omit<TestUsers, 'updatedAt'>,
  checkSeen: (present: TestUsers | null) => void,
): Promise<TestUsers> {
  const { sql, clock } = deps;
  return transaction(sql, async (tx) => {
    const isFirst = await insertTestUsers(tx, clock, appId, list);
    const former = isFirst ? null : ((await lockTestUsers(tx, appId)) ?? null);
    checkSeen(former);
    const isChanged =
      former === null || !isDeepStrictEqual([former.externalIds, former.deviceIds], [list.externalIds, list.deviceIds]);
    if (former !== null && isChanged) await updateTestUsers(tx, clock, appId, list);
    if (isChanged) {
      // The audit log gets only numbers, because it never names a person.
      const before = { users: former?.externalIds.length ?? 0, devices: former?.deviceIds.length ?? 0 };
      const after = { users: list.externalIds.length, devices: list.deviceIds.length };
      await recordAudit({ ...deps, tx }, { appId, action: 'test_users.edit', target: null, before, after });
    }
    const stored = await findTestUsers(tx, appId);
    if (!stored) throw new Error('a list of test users was written and is not there');
    return stored;
  });
}
