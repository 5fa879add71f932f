// Creates an app with one key of each scope in one transaction, so that no app exists that nobody
// can call. The texts of the keys are returned once and stored nowhere.

import { type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { invalid } from '../../ground/http/api-error.ts';
import { shownNameProblem } from '../../ground/http/schemas.ts';
import { encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import type { Issue } from '../../ground/values/issue.ts';
import { isOneLine } from '../../ground/values/one-line.ts';
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import { addKey } from './manage-keys.ts';
import { firstOrganisationId, insertApp } from './queries.ts';

export interface NewApp {
  readonly id: Uuid;
  /** The complete keys, shown once. */
  readonly serverKey: string;
  readonly clientKey: string;
}

const nameLengthMax = 128;

/**
 * Creates an app. Throws the 400 for an invalid name. The caller checks that the plan exists,
 * because plans are a file and not a table.
 */
export async function createApp(
  { sql, clock, by }: Audited & { sql: Sql; clock: Clock },
  { name, plan, organisationId = firstOrganisationId }: { name: string; plan: string; organisationId?: Uuid },
): Promise<NewApp> {
  const issue = findNameIssue(name);
  if (issue) throw invalid([issue]);
  const id = mintUuid(clock.nowMs());
  return transaction(sql, async (tx) => {
    const deps = { tx, clock, by };
    await insertApp(tx, { id, name, plan, organisationId });
    await recordAudit(deps, { appId: id, action: 'app.create', target: encodeId('app', id), after: { name, plan } });
    const server = await addKey(deps, { appId: id, scope: 'server', name: 'Server key' });
    const client = await addKey(deps, { appId: id, scope: 'client', name: 'Client key' });
    return { id, serverKey: server.text, clientKey: client.text };
  });
}

/** Returns the issue of an app's or key's name. Names are for people and need not be unique. */
export function findNameIssue(name: string): Issue | undefined {
  if (name.trim() === '') return { path: ['name'], code: 'too_small', message: 'A name has at least one character.' };
  if (name.length > nameLengthMax) {
    return { path: ['name'], code: 'too_big', message: `A name has at most ${nameLengthMax} characters.` };
  }
  if (!isOneLine(name)) {
    return { path: ['name'], code: 'invalid_format', message: shownNameProblem };
  }
  return undefined;
}
