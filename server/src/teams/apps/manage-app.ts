// An operator's changes of an app: its plan, its attribution window, its suspension and its rules
// for events. The audit log records each change.

import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { invalid } from '../../ground/http/api-error.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import type { AuditAction, AuditFields } from '../audit/entry.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import { findNameIssue } from './create-app.ts';
import {
  type App,
  findApp,
  findClientEvents,
  lockApp,
  touchApp,
  updateAppName,
  updateAppPlan,
  updateAppSuspension,
  updateAttributionWindow,
  updateClientEvents,
  updateDefaultUrl,
} from './queries.ts';

export interface ManageAppDeps extends Audited {
  readonly sql: Sql;
  readonly clock: Clock;
}

/**
 * Changes an app's plan. The caller checks that the plan exists, because plans are a file and not a
 * table.
 */
export async function changePlan(
  deps: ManageAppDeps,
  appId: Uuid,
  plan: string,
  check: (app: App) => void = () => undefined,
): Promise<void> {
  await change(deps, appId, async (tx, app) => {
    check(app);
    if (app.plan === plan) return;
    await updateAppPlan(tx, appId, plan);
    await touchApp(tx, deps.clock, appId);
    const target = encodeId('app', appId);
    await recordAudit(
      { ...deps, tx },
      { appId, action: 'app.plan', target, before: { plan: app.plan }, after: { plan } },
    );
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
    await touchApp(tx, deps.clock, appId);
    const action = isSuspended ? 'app.suspend' : 'app.resume';
    await recordAudit({ ...deps, tx }, { appId, action, target: encodeId('app', appId) });
  });
}

/** The fields of an app that people edit. Undefined keeps a field. */
export interface AppEdit {
  readonly name?: string | undefined;
  /** Null: web pushes without a url have none. */
  readonly defaultUrl?: string | null | undefined;
  /**
   * Hours before a purchase within which a message may be credited: 1 to 720 (CHECK of the table).
   * Settled purchases do not change.
   */
  readonly attributionWindowHours?: number | undefined;
  /** The events that client keys may track. Every process follows a change within two seconds. */
  readonly newNames?: boolean | undefined;
  readonly purchases?: boolean | undefined;
}

/**
 * Edits an app, all fields or none. `check` sees the locked app first and may throw, such as for an
 * app that somebody else has changed meanwhile. Throws the 400 for an invalid name.
 */
export async function editApp(
  deps: ManageAppDeps,
  appId: Uuid,
  edit: AppEdit,
  check: (app: App) => void = () => undefined,
): Promise<void> {
  const issue = edit.name === undefined ? undefined : findNameIssue(edit.name);
  if (issue) throw invalid([issue]);
  await change(deps, appId, async (tx, app) => {
    check(app);
    const record = async (action: AuditAction, before: AuditFields, after: AuditFields): Promise<void> => {
      await recordAudit({ ...deps, tx }, { appId, action, target: encodeId('app', appId), before, after });
      await touchApp(tx, deps.clock, appId);
    };
    const { name, defaultUrl, attributionWindowHours: hours } = edit;
    if (name !== undefined && name !== app.name) {
      await updateAppName(tx, appId, name);
      await record('app.rename', { name: app.name }, { name });
    }
    if (defaultUrl !== undefined && defaultUrl !== app.defaultUrl) {
      await updateDefaultUrl(tx, appId, defaultUrl);
      await record('app.default_url', { default_url: app.defaultUrl }, { default_url: defaultUrl });
    }
    if (hours !== undefined && hours !== app.attributionWindowHours) {
      await updateAttributionWindow(tx, appId, hours);
      await record('app.window', { window_hours: app.attributionWindowHours }, { window_hours: hours });
    }
    const former = await findClientEvents(tx, appId);
    if (!former) return;
    const { newNames = former.newNames, purchases = former.purchases } = edit;
    if (newNames === former.newNames && purchases === former.purchases) return;
    await updateClientEvents(tx, appId, { newNames, purchases });
    const before = { new_names: former.newNames, purchases: former.purchases };
    await record('app.events', before, { new_names: newNames, purchases });
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
