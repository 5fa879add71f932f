// Deletes an app (contract 19). From the commit on its keys are refused, and nothing is sent or
// told, because it also counts as suspended. A periodic task clears its rows afterwards.

import { type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { invalid, notFound } from '../../ground/http/api-error.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import { countRowsOf, findApp, lockApp, markAppDeleted } from './queries.ts';

/** The numbers of rows that the task will clear, for the answer. */
export interface DeletedApp {
  readonly devices: number;
  readonly users: number;
  readonly messages: number;
}

/**
 * Deletes an app whose name was typed again. Throws the 400 for another name, and the 404 for an
 * app that is deleted already. The caller cancels messages that are being sent.
 */
export async function deleteApp(
  deps: Audited & { readonly sql: Sql; readonly clock: Clock },
  appId: Uuid,
  name: string,
): Promise<DeletedApp> {
  const counts = await countRowsOf(deps.sql, appId);
  await transaction(deps.sql, async (tx) => {
    await lockApp(tx, appId);
    const app = await findApp(tx, appId);
    if (!app) throw notFound(`No app ${encodeId('app', appId)}.`);
    if (app.name !== name) {
      throw invalid([{ path: ['name'], code: 'invalid_value', message: 'Type the name of the app, as it is.' }]);
    }
    await markAppDeleted(tx, deps.clock, appId);
    const [target, before] = [encodeId('app', appId), { name, plan: app.plan, ...counts }];
    const { organisationId: orgId } = app;
    await recordAudit({ ...deps, tx }, { appId, orgId, action: 'app.delete', target, before });
  });
  return counts;
}
