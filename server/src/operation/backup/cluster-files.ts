// The files of a cluster that a backup contains. All other files in the directory belong to the
// running server, to this machine or to an operator. A restore never takes such a file, because
// somebody may have altered the backup.

/**
 * Entries of the cluster's directory that contain data (PostgreSQL documentation, "Database File
 * Layout").
 */
const dataEntries = new Set([
  'PG_VERSION',
  'backup_label',
  'base',
  'global',
  'pg_commit_ts',
  'pg_dynshmem',
  'pg_logical',
  'pg_multixact',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat',
  'pg_stat_tmp',
  'pg_subtrans',
  'pg_tblspc',
  'pg_twophase',
  'pg_wal',
  'pg_xact',
]);

/**
 * Settings of the server. They can name programs that the server runs (`archive_command`,
 * `shared_preload_libraries`), so a restore creates them again. A backup contains them for people
 * to read.
 */
export const configurationFiles = ['postgresql.conf', 'postgresql.auto.conf', 'pg_hba.conf', 'pg_ident.conf'] as const;

/** Returns data, configuration, or undefined for neither, by the path inside the cluster. */
export function kindOf(path: string): 'data' | 'configuration' | undefined {
  const [first = ''] = path.split('/');
  if (dataEntries.has(first)) return 'data';
  return (configurationFiles as readonly string[]).includes(path) ? 'configuration' : undefined;
}
