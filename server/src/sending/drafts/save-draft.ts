// Makes, replaces and deletes drafts. A draft is saved as its author types, so the audit log gets
// one entry for each sitting and not one for each save.
import { isDeepStrictEqual } from 'node:util';
import { type Sql, type Tx, transaction } from '@carillon/postgres';
import { type Clock, readNowMs } from '../../ground/database/clock.ts';
import { invalid, notFound } from '../../ground/http/api-error.ts';
import { encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { describeActor } from '../../teams/audit/actor.ts';
import type { AuditFields } from '../../teams/audit/entry.ts';
import { type Audited, recordAudit } from '../../teams/audit/record-audit.ts';
import { draftsMax } from './draft.ts';
import {
  countDrafts,
  type DraftFields,
  deleteDraft,
  findDraft,
  insertDraft,
  lockDraft,
  lockDrafts,
  type StoredDraft,
  updateDraft,
} from './queries.ts';

export interface DraftDeps extends Audited {
  /** A pool for short transactions. */
  readonly sql: Sql;
  readonly clock: Clock;
}

/** A sitting ends when its author saves nothing for this long (a guess). */
export const sittingMs = 10 * 60_000;

type Message = DraftFields['message'];

/** An id that the writer chose, so that requests that are sent again make one draft. */
export interface ChosenId {
  readonly id: Uuid;
  /** The message of an earlier request that got no answer; absent for the first request. */
  readonly unanswered: Message | undefined;
  /** Throws for a draft that somebody else changed meanwhile. */
  readonly refuse: (present: StoredDraft) => never;
}

/**
 * Makes a draft. If a draft with the chosen id exists, the writer's first request changes nothing,
 * because a later one overtook it. A later request replaces the writer's earlier one. Throws the
 * 400 `too_big` when the app has too many drafts.
 */
export async function createDraft(
  deps: DraftDeps,
  appId: Uuid,
  fields: DraftFields,
  chosen: ChosenId | undefined,
): Promise<StoredDraft> {
  const { sql, clock, by } = deps;
  return transaction(sql, async (tx) => {
    await lockDrafts(tx, appId);
    const former = chosen && (await lockDraft(tx, appId, chosen.id));
    if (former) {
      if (chosen.unanswered === undefined || isDeepStrictEqual(fields.message, former.message)) return former;
      const isUntouched = former.updatedAt.getTime() === former.createdAt.getTime();
      if (!isUntouched && !isDeepStrictEqual(chosen.unanswered, former.message)) chosen.refuse(former);
      await updateDraft(tx, clock, appId, chosen.id, fields, describeActor(by));
      return getDraft(tx, appId, chosen.id);
    }
    if ((await countDrafts(tx, appId)) >= draftsMax) {
      const message = `An app has at most ${draftsMax} drafts. Delete some of them.`;
      throw invalid([{ path: [], code: 'too_big', message }]);
    }
    const id = chosen?.id ?? mintUuid(clock.nowMs());
    await insertDraft(tx, clock, appId, id, fields, describeActor(by));
    await recordAudit(
      { ...deps, tx },
      { appId, action: 'draft.create', target: idOf(id), after: auditFieldsOf(fields) },
    );
    return getDraft(tx, appId, id);
  });
}

/**
 * Replaces a draft. `checkSeen` throws for a state that its writer has not seen. Throws the 404
 * before.
 */
export async function replaceDraft(
  deps: DraftDeps,
  appId: Uuid,
  id: Uuid,
  fields: DraftFields,
  checkSeen: (present: StoredDraft) => void,
): Promise<StoredDraft> {
  const { sql, clock, by } = deps;
  return transaction(sql, async (tx) => {
    const former = await lockDraft(tx, appId, id);
    if (!former) throw notFound();
    checkSeen(former);
    const author = describeActor(by);
    await updateDraft(tx, clock, appId, id, fields, author);
    const quietMs = (await readNowMs(tx, clock)) - former.updatedAt.getTime();
    if (former.changedBy !== author || quietMs >= sittingMs) {
      const [before, after] = [auditFieldsOf(former), auditFieldsOf(fields)];
      await recordAudit({ ...deps, tx }, { appId, action: 'draft.edit', target: idOf(id), before, after });
    }
    return getDraft(tx, appId, id);
  });
}

/** Throws the 404. */
export async function removeDraft(deps: DraftDeps, appId: Uuid, id: Uuid): Promise<void> {
  await transaction(deps.sql, async (tx) => {
    const former = await lockDraft(tx, appId, id);
    if (!former) throw notFound();
    await deleteDraft(tx, appId, id);
    const before = auditFieldsOf(former);
    await recordAudit({ ...deps, tx }, { appId, action: 'draft.delete', target: idOf(id), before });
  });
}

async function getDraft(tx: Tx, appId: Uuid, id: Uuid): Promise<StoredDraft> {
  const found = await findDraft(tx, appId, id);
  if (!found) throw notFound();
  return found;
}

function idOf(id: Uuid): string {
  return encodeId('drf', id);
}

/** The audit log gets the name only, because an audience may name people. */
function auditFieldsOf({ name }: DraftFields): AuditFields {
  return { name };
}
