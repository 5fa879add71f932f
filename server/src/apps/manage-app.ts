// An operator's changes of an app: its plan, its attribution window, its suspension and its rules
// for events. The audit log records each change.
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import type { Clock } from '../database/clock.ts';
import { type Sql, type Tx, transaction } from '../database/db.ts';
import { encodeId, type Uuid } from '../ground/ids.ts';
import {
  type App,
  findApp,
  findClientEvents,
  lockApp,
  updateAppPlan,
  updateAppSuspension,
  updateAttributionWindow,
  updateClientEvents,
} from './queries.ts';

export interface ManageAppDeps extends Audited {
  readonly sql: Sql;
  readonly clock: Clock;
}

/**
 * Changes an app's plan. The caller checks that the plan exists, because plans are a file and not a
 * table.
 */
export async function changePlan(deps: ManageAppDeps, appId: Uuid, plan: string): Promise<void> {
  await change(deps, appId, async (tx, app) => {
    if (app.plan === plan) return;
    await updateAppPlan(tx, appId, plan);
    const target = encodeId('app', appId);
    await recordAudit(
      { ...deps, tx },
      { appId, action: 'app.plan', target, before: { plan: app.plan }, after: { plan } },
    );
  });
}

/**
 * Changes the hours before a purchase within which a message may be credited: 1 to 720 (CHECK of
 * the table).
 */
export async function changeAttributionWindow(deps: ManageAppDeps, appId: Uuid, hours: number): Promise<void> {
  await change(deps, appId, async (tx, app) => {
    if (app.attributionWindowHours === hours) return;
    await updateAttributionWindow(tx, appId, hours);
    const target = encodeId('app', appId);
    const [before, after] = [{ window_hours: app.attributionWindowHours }, { window_hours: hours }];
    await recordAudit({ ...deps, tx }, { appId, action: 'app.window', target, before, after });
  });
}

/**
 * Suspends or resumes an app. A second suspension keeps the first instant. The caller cancels
 * messages that are being sent.
 */
export async function changeSuspension(deps: ManageAppDeps, appId: Uuid, isSuspended: boolean): Promise<void> {
  await change(deps, appId, async (tx, app) => {
    if ((app.suspendedAt !== null) === isSuspended) return;
    await updateAppSuspension(tx, deps.clock, appId, isSuspended);
    const action = isSuspended ? 'app.suspend' : 'app.resume';
    await recordAudit({ ...deps, tx }, { appId, action, target: encodeId('app', appId) });
  });
}

/**
 * Changes the rules for events by client key; every process follows within two seconds. Undefined
 * keeps a rule.
 */
export async function changeClientEvents(
  deps: ManageAppDeps,
  appId: Uuid,
  wanted: { readonly newNames?: boolean | undefined; readonly purchases?: boolean | undefined },
): Promise<void> {
  await change(deps, appId, async (tx) => {
    const former = await findClientEvents(tx, appId);
    if (!former) return;
    const newNames = wanted.newNames ?? former.newNames;
    const purchases = wanted.purchases ?? former.purchases;
    if (newNames === former.newNames && purchases === former.purchases) return;
    await updateClientEvents(tx, appId, { newNames, purchases });
    const [before, after] = [
      { new_names: former.newNames, purchases: former.purchases },
      { new_names: newNames, purchases },
    ];
    await recordAudit({ ...deps, tx }, { appId, action: 'app.events', target: encodeId('app', appId), before, after });
  });
}

async function change({ sql }: ManageAppDeps, appId: Uuid, work: (tx: Tx, app: App) => Promise<void>): Promise<void> {
  await transaction(sql, async (tx) => {
    // The second of two concurrent changes sees the result of the first.
    await lockApp(tx, appId);
    const app = await findApp(tx, appId);
    if (app) await work(tx, app);
  });
}
