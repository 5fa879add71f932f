// Begins and ends the operator's pause of sends and webhooks, and records in the audit log who did.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { type Pause, type PauseReason, pause, resume } from '../../ground/database/restore-guard.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { type Audited, recordAudit } from './record-audit.ts';

interface PauseDeps extends Audited {
  readonly sql: Sql;
  readonly clock: Clock;
  /** The organisation of the person who asks; absent when the machine's operator asks. */
  readonly orgId?: Uuid;
}

/**
 * Begins a pause, unless there is one, and returns the pause in force. Null: no service ever ran on
 * this database.
 */
export async function pauseService(deps: PauseDeps, reason: PauseReason): Promise<Pause | null> {
  return pause(deps.sql, reason, (tx) =>
    recordAudit(
      { ...deps, tx },
      { appId: null, orgId: deps.orgId ?? null, action: 'service.pause', target: null, after: { reason } },
    ),
  );
}

/** Ends the pause and returns it; null when there was no pause. */
export async function resumeService(deps: PauseDeps): Promise<Pause | null> {
  return resume(deps.sql, (tx, { at, reason }) => {
    const before = { reason, paused_at: at };
    return recordAudit(
      { ...deps, tx },
      { appId: null, orgId: deps.orgId ?? null, action: 'service.resume', target: null, before },
    );
  });
}
