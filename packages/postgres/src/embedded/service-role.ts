// The role of the service in an embedded cluster: it owns the program's database and everything in
// it, and is no superuser. So no statement that a caller could make the service run reads a file,
// starts a program or reaches another database.
import { setTimeout as sleep } from 'node:timers/promises';
import { findValue } from '../answer.ts';
import { connect, type Tx } from '../db.ts';
import { writeAccess } from './access.ts';
import type { Cluster } from './cluster.ts';
import { owner } from './owner.ts';
import type { Connection } from './postmaster.ts';

/** Milliseconds that a server needs to read changed rules of access. */
const reloadMsMax = 5_000;
const lookEveryMs = 20;

/** The address of a role at the cluster's database, in libpq's form. */
export function addressOf({ host, port }: Connection, role: string): string {
  return `postgres://${role}@localhost:${port}/${owner.name}?host=${encodeURIComponent(host).replaceAll('%2F', '/')}`;
}

/**
 * Makes the role and the database where they are missing. A database of an earlier version belongs
 * to the superuser and is given to the role. May run in two processes at once.
 */
export async function provideDatabase(connection: Connection, cluster: Cluster): Promise<void> {
  const { sql } = connection;
  const [role] = await sql`SELECT FROM pg_roles WHERE rolname = ${owner.serviceRole}`;
  if (!role) await sql.unsafe(`CREATE ROLE ${owner.serviceRole} LOGIN`).catch(unlessMadeMeanwhile);
  // Migrations name the transaction that they wait for, and `doctor` names the disk with the data.
  await sql.unsafe(`GRANT pg_monitor TO ${owner.serviceRole}`);
  const isOurs = await findValue<boolean>(sql`
    SELECT pg_get_userbyid(datdba) = ${owner.serviceRole} FROM pg_database WHERE datname = ${owner.name}`);
  if (isOurs === undefined)
    await sql.unsafe(`CREATE DATABASE ${owner.name} OWNER ${owner.serviceRole}`).catch(unlessMadeMeanwhile);
  await admitRole(connection, cluster);
  if (isOurs === false) await giveDatabase(addressOf(connection, owner.name));
}

/** 42P04, 42710 and 23505 (from the catalog's own index): it exists. */
function unlessMadeMeanwhile(error: unknown): void {
  if (!/^(42P04|42710|23505)$/.test(String((error as { code?: unknown } | null)?.code))) throw error;
}

// A server that an earlier version left running has no rule for the role.
async function admitRole(connection: Connection, { directory, user }: Cluster): Promise<void> {
  const isAdmitted = async (sql: Tx): Promise<boolean> => {
    const [rule] = await sql`SELECT FROM pg_hba_file_rules WHERE ${owner.serviceRole} = ANY(user_name)`;
    return rule !== undefined;
  };
  if (await isAdmitted(connection.sql)) return;
  await writeAccess(directory, [owner.name, owner.serviceRole], user);
  await connection.sql`SELECT pg_reload_conf()`;
  const url = addressOf(connection, owner.serviceRole);
  for (const until = performance.now() + reloadMsMax; ; await sleep(lookEveryMs)) {
    try {
      (await connect({ url, name: owner.name, statementTimeoutMs: 0 })).release();
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
    }
  }
}

/** All in one transaction. Its last statement records that it is done. */
async function giveDatabase(url: string): Promise<void> {
  const sql = await connect({ url, name: owner.name, statementTimeoutMs: 0 });
  try {
    await sql.unsafe(`
      DO $give$
      DECLARE statement text;
      BEGIN
        FOR statement IN
          SELECT format('ALTER %s %s OWNER TO ${owner.serviceRole}', kind, name) FROM (
            SELECT CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind,
              oid::regclass::text AS name FROM pg_class c
            WHERE relnamespace = 'public'::regnamespace AND (relkind IN ('r', 'p', 'v', 'm')
              OR relkind = 'S' AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = c.oid AND deptype IN ('a', 'i')))
            UNION ALL
            SELECT 'ROUTINE', oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
            UNION ALL
            SELECT 'TYPE', oid::regtype::text FROM pg_type
            WHERE typnamespace = 'public'::regnamespace AND typtype IN ('d', 'e')
            UNION ALL
            SELECT 'DATABASE', quote_ident(current_database())
          ) AS owned (kind, name)
        LOOP EXECUTE statement; END LOOP;
      END $give$`);
  } finally {
    sql.release();
  }
}
