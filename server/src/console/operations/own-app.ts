// Whether an app belongs to the caller's organisation, for routes whose path has the id of an
// object of an app.

import type { Sql } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import { findApp } from '../../teams/apps/queries.ts';
import type { ConsoleCaller } from './caller.ts';

export async function isOwnApp(sql: Sql, { organisationId }: ConsoleCaller, appId: Uuid): Promise<boolean> {
  return (await findApp(sql, appId))?.organisationId === organisationId;
}
