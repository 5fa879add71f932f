// Describes a database error to an operator in one line: which server, which database, and what to
// do. Never shows a password.
import { readAddress } from '@carillon/postgres';

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
  const { hosts, user, database } = readAddress(databaseUrl);
  const server = hosts.map(({ host, port }) => `${host}:${port}`).join(', ');
  const host = hosts.map((each) => each.host).join(',');
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
    return `PostgreSQL at ${server} has no database '${database}': make it with: createdb -h ${host} -p ${hosts[0]?.port} -O ${user} ${database}`;
  }
  if (code === '42501') {
    return `The user '${user}' may not do this in the database '${database}' at ${server} (${message}): let it own the database, with: ALTER DATABASE ${database} OWNER TO ${user}`;
  }
  if (code === '53300') {
    return `PostgreSQL at ${server} has no connection left for the database '${database}' (${code}): raise its max_connections`;
  }
  // Our own codes, and the code for breaches of the protocol, say less than the message.
  const reason = /^(CONNECTION|08P01)/.test(code) ? `${code}: ${message}` : code || message;
  return `The database '${database}' at ${server} cannot be reached (${reason})`;
}
