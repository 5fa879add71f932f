// Describes a database error to an operator in one line: which server, which database, and what to
// do. Never shows a password.
import { userInfo } from 'node:os';

/** `databaseUrl` null: the embedded database, whose log lies in `dataDir`. */
export interface DatabasePlace {
  readonly databaseUrl: string | null;
  readonly dataDir: string;
}

export function describeDatabaseError(error: unknown, { databaseUrl, dataDir }: DatabasePlace): string {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  if (databaseUrl === null) {
    return `The embedded database of ${dataDir} does not answer (${code}): its log is ${dataDir}/postgres.log`;
  }
  const { host, port, user, database } = readAddress(databaseUrl);
  const server = `${host}:${port}`;
  if (/^(ENOTFOUND|EAI_AGAIN)$/.test(code)) {
    return `The host '${host}' of the database is not known (${code}): correct its name in DATABASE_URL`;
  }
  if (code === 'ECONNREFUSED' || code === 'ENOENT') {
    return `Nothing answers at ${server} for the database '${database}' (${code}): start PostgreSQL there, or correct DATABASE_URL`;
  }
  if (/TIMEOUT|TIMEDOUT|^EHOST|^ENET/.test(code)) {
    return `${server} does not answer for the database '${database}' (${code}): check host, port and firewall of DATABASE_URL`;
  }
  if (/^28/.test(code)) {
    return `PostgreSQL at ${server} refuses the user '${user}' for the database '${database}' (${code}): correct user and password in DATABASE_URL, or let the user in by pg_hba.conf`;
  }
  if (code === '3D000') {
    return `PostgreSQL at ${server} has no database '${database}': make it with: createdb -h ${host} -p ${port} -O ${user} ${database}`;
  }
  if (code === '42501') {
    return `The user '${user}' may not do this in the database '${database}' at ${server} (${message}): let it own the database, with: ALTER DATABASE ${database} OWNER TO ${user}`;
  }
  if (/unsupported startup parameter/.test(message)) {
    return `The pooler at ${server} refuses what Carillon's sessions are started with (${message}): let it ignore them, with PgBouncer: ignore_startup_parameters = options,statement_timeout,idle_in_transaction_session_timeout,work_mem,jit,random_page_cost,plan_cache_mode`;
  }
  if (code === '53300') {
    return `PostgreSQL at ${server} has no connection left for the database '${database}' (${code}): raise its max_connections`;
  }
  return `The database '${database}' at ${server} cannot be reached (${code || message})`;
}

function readAddress(databaseUrl: string): { host: string; port: string; user: string; database: string } {
  try {
    const url = new URL(databaseUrl);
    const user = decodeURIComponent(url.username) || userInfo().username;
    return {
      host: url.searchParams.get('host') ?? (url.hostname || 'localhost'),
      port: url.port || '5432',
      user,
      database: decodeURIComponent(url.pathname.slice(1)) || user,
    };
  } catch {
    // A URL with several hosts is not valid for `URL`.
    const [, host = '', database = ''] = /@([^/?]*)\/?([^?]*)/.exec(databaseUrl) ?? [];
    return { host, port: '5432', user: '', database };
  }
}
