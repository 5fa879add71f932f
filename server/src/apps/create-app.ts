// Makes an app with one key of each scope, in one transaction: there is never an app that nobody can call. The texts of its
// keys are returned once and stored nowhere.
import { type Audited, recordAudit } from '../audit/record-audit.ts';
import { type Issue, invalid } from '../platform/api-error.ts';
import type { Clock } from '../platform/clock.ts';
import { type Sql, transaction } from '../platform/db.ts';
import { encodeId, mintUuid, type Uuid } from '../platform/ids.ts';
import { addKey } from './manage-keys.ts';
import { insertApp } from './queries.ts';

export interface NewApp {
  readonly id: Uuid;
  /** The whole keys: shown once. */
  readonly serverKey: string;
  readonly clientKey: string;
}

const nameLengthMax = 128;

/** Throws the 400 for a name that cannot be one. That the plan exists is the caller's to check: plans are a file, not a table. */
export async function createApp(
  { sql, clock, by }: Audited & { sql: Sql; clock: Clock },
  { name, plan }: { name: string; plan: string },
): Promise<NewApp> {
  const issue = findNameIssue(name);
  if (issue) throw invalid([issue]);
  const id = mintUuid(clock.nowMs());
  return transaction(sql, async (tx) => {
    const deps = { tx, clock, by };
    await insertApp(tx, { id, name, plan });
    await recordAudit(deps, { appId: id, action: 'app.create', target: encodeId('app', id), after: { name, plan } });
    const server = await addKey(deps, { appId: id, scope: 'server', name: 'Server key' });
    const client = await addKey(deps, { appId: id, scope: 'client', name: 'Client key' });
    return { id, serverKey: server.text, clientKey: client.text };
  });
}

/** What is wrong with the name of an app or a key. Names are for people; they need not be unique. */
export function findNameIssue(name: string): Issue | undefined {
  if (name.trim() === '') return { path: ['name'], code: 'too_small', message: 'A name has at least one character.' };
  if (name.length > nameLengthMax) {
    return { path: ['name'], code: 'too_big', message: `A name has at most ${nameLengthMax} characters.` };
  }
  // Names are printed on terminals: nothing in them may move a cursor or break a line.
  if (!name.isWellFormed() || /\p{Cc}/u.test(name)) {
    return { path: ['name'], code: 'invalid_format', message: 'A name is one line of text.' };
  }
  return undefined;
}
