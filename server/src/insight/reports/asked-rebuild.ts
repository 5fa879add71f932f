// A rebuild of reports that the console asks for and a worker does: it may take minutes, and no
// request waits for it. Safe to do twice, so that a crash costs only time.

import { type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Log } from '../../ground/host/log.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { type Audited, recordAudit } from '../../teams/audit/record-audit.ts';
import { rebuildEventTotals } from '../events/rebuild-event-totals.ts';
import {
  type AskedRebuild,
  findRebuild,
  finishRebuild,
  insertRebuild,
  startNextRebuild,
} from './asked-rebuild-queries.ts';
import { rebuildAttribution } from './rebuild.ts';

/** Asks for a rebuild. If one of the app waits or runs, returns that one and changes nothing. */
export async function askForRebuild(
  { sql, clock, by }: Audited & { readonly sql: Sql; readonly clock: Clock },
  appId: Uuid,
  range: Pick<AskedRebuild, 'fromAt' | 'toAt'>,
): Promise<AskedRebuild | undefined> {
  const asked = await transaction(sql, async (tx) => {
    const inserted = await insertRebuild(tx, clock, appId, range);
    if (!inserted) return undefined;
    const after = { from: range.fromAt, to: range.toAt };
    await recordAudit({ tx, clock, by }, { appId, action: 'reports.rebuild', target: null, after });
    return inserted;
  });
  return asked ?? findRebuild(sql, appId);
}

/**
 * A rebuild whose process died this often is given up, because it may kill the next process too.
 */
const triesMax = 3;

interface RebuildDeps {
  readonly sql: Sql;
  readonly clock: Clock;
}

/**
 * Does every rebuild that was asked for, the oldest first. A failure is logged and ends only its
 * own.
 */
export async function doAskedRebuilds(deps: RebuildDeps & { readonly log: Pick<Log, 'error'> }): Promise<void> {
  const { sql, clock, log } = deps;
  for (;;) {
    const asked = await startNextRebuild(sql, clock);
    if (!asked) return;
    try {
      if (asked.tries > triesMax) throw new Error(`its process died ${triesMax} times`);
      await finishRebuild(sql, clock, asked.appId, await rebuild(deps, asked));
    } catch (error) {
      log.error({ err: error, app_id: asked.appId }, 'a rebuild of reports failed');
      await finishRebuild(sql, clock, asked.appId, null);
    }
  }
}

async function rebuild({ sql, clock }: RebuildDeps, asked: AskedRebuild) {
  const { appId, fromAt, toAt } = asked;
  const { events } = await rebuildEventTotals(sql, { appId, from: fromAt, to: toAt });
  const range = { appId, fromMs: fromAt?.getTime() ?? null, toMs: toAt?.getTime() ?? null };
  const { purchases } = await rebuildAttribution({ sql, clock }, range);
  return { events, purchases };
}
