// Edits the profile of an existing user for a person.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { encodeId } from '../../ground/values/ids.ts';
import { editAsSeen } from '../../teams/audit/edit-as-seen.ts';
import type { Audited } from '../../teams/audit/record-audit.ts';
import type { UpsertUser } from './merge-profile.ts';
import { type UpsertedUser, upsertOneIn } from './upsert-users.ts';
import type { User } from './user.ts';

/**
 * Edits a profile. Undefined: there is no such user, or `isAsSeen` refused the stored profile. The
 * audit entry names the fields that changed, and no value; without a change there is no entry.
 * Throws the 400 for too many properties.
 */
export async function editUser(
  { sql, clock, by }: Audited & { readonly sql: Sql; readonly clock: Clock },
  edit: Omit<UpsertUser, 'deviceId'>,
  isAsSeen: (former: User) => boolean,
): Promise<UpsertedUser | undefined> {
  const request = { ...edit, deviceId: null };
  return editAsSeen(
    { sql, clock, by },
    { appId: edit.appId, action: 'user.edit' },
    (tx) => upsertOneIn(tx, { clock }, request, isAsSeen),
    ({ user, changes }) => ({
      target: encodeId('usr', user.id),
      fields: changes.map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
    }),
  );
}
