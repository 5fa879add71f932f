// SQL: which names an app's events have, and how many: those that are summed up, and those that wait for it.
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

/** Any number that nothing else in this database locks together with a second one. */
const namesLock = 4_271_961;

/** One request at a time brings new names to an app, until its transaction ends. */
export async function lockNames(tx: Tx, appId: Uuid): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(${namesLock}, hashtext(${appId}::text))`;
}

/** Which of these names were tracked already? */
export async function listStoredNames(tx: Tx, appId: Uuid, names: readonly string[]): Promise<string[]> {
  const rows = await tx<{ name: string }[]>`
    SELECT name FROM event_names WHERE app_id = ${appId} AND name = ANY(${names as string[]}::text[])
    UNION
    SELECT name FROM rollup_deltas WHERE app_id = ${appId} AND name = ANY(${names as string[]}::text[])`;
  return rows.map(({ name }) => name);
}

/** How many names were tracked? */
export async function countStoredNames(tx: Tx, appId: Uuid): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    SELECT count(*) AS count
    FROM (
      SELECT name FROM event_names WHERE app_id = ${appId}
      UNION
      SELECT name FROM rollup_deltas WHERE app_id = ${appId}
    ) AS tracked`;
  return row?.count ?? 0;
}

/** How many names did client keys bring? */
export async function countClientNames(tx: Tx, appId: Uuid): Promise<number> {
  const [row] = await tx<{ count: number }[]>`SELECT count(*) FROM client_names WHERE app_id = ${appId}`;
  return row?.count ?? 0;
}

/** These names were brought by client keys. */
export async function insertClientNames(tx: Tx, appId: Uuid, names: readonly string[]): Promise<void> {
  await tx`
    INSERT INTO client_names (app_id, name) SELECT ${appId}, name FROM unnest(${names as string[]}::text[]) AS n (name)
    ON CONFLICT DO NOTHING`;
}

/** A name is free again. */
export async function deleteClientName(tx: Tx, appId: Uuid, name: string): Promise<void> {
  await tx`DELETE FROM client_names WHERE app_id = ${appId} AND name = ${name}`;
}
