// Writes an entry of the audit log in the transaction of the change, so that both are stored or
// neither is (contract 19).

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { mintOrderedUuid, nilUuid } from '../../ground/values/ids.ts';
import type { Actor } from './actor.ts';
import type { AuditChange } from './entry.ts';
import { insertEntry } from './queries.ts';

/** Every operation that changes the set-up takes this parameter, beside its own. */
export interface Audited {
  readonly by: Actor;
}

/**
 * Records one change; `tx` is the transaction of that change. An operation that changed nothing,
 * such as a second suspension, must not call this. Neither `target` nor a field of `before` and
 * `after` may hold a secret, a push token or a value of a person.
 */
export async function recordAudit(
  { tx, clock, by }: Audited & { readonly tx: Tx; readonly clock: Clock },
  { appId, orgId, action, target, before, after }: AuditChange,
): Promise<void> {
  await insertEntry(tx, clock, {
    appId: appId ?? nilUuid,
    orgId: orgId ?? null,
    // Entries of one change stand in the order in which they were written.
    id: mintOrderedUuid(clock.nowMs()),
    by,
    action,
    target,
    before: before ?? null,
    after: after ?? null,
  });
}
