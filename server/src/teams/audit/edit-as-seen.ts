// An edit by a person: written only over the state that the person saw, and recorded with the names
// of the changed fields (contract 19).

import { repeatOnDeadlock, type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { AuditChange } from './entry.ts';
import { type Audited, recordAudit } from './record-audit.ts';

/** The object does not exist, or differs from what the writer saw. Nothing is written. */
export class NotAsSeen extends Error {
  override readonly name = 'NotAsSeen';
}

/**
 * Runs an edit in one transaction with its audit entry. `tell` names the target and the fields that
 * changed; without a changed field there is no entry. Returns undefined when `edit` throws
 * `NotAsSeen`.
 */
export async function editAsSeen<Edited>(
  { sql, clock, by }: Audited & { readonly sql: Sql; readonly clock: Clock },
  { appId, action }: Required<Pick<AuditChange, 'appId' | 'action'>>,
  edit: (tx: Tx) => Promise<Edited>,
  tell: (edited: Edited) => { readonly target: string; readonly fields: readonly string[] },
): Promise<Edited | undefined> {
  const work = (): Promise<Edited> =>
    transaction(sql, async (tx) => {
      const edited = await edit(tx);
      const { target, fields } = tell(edited);
      if (fields.length > 0) await recordAudit({ tx, clock, by }, { appId, action, target, after: { fields } });
      return edited;
    });
  try {
    return await repeatOnDeadlock(work);
  } catch (error) {
    if (error instanceof NotAsSeen) return undefined;
    throw error;
  }
}
