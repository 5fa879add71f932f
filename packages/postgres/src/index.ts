export { describeUnsafeWay, readAddress } from './address.ts';
export { analyzeGrown } from './analyze-grown.ts';
export { findRow, findValue, getRow, getValue, listValues } from './answer.ts';
export { bareArray } from './array-text.ts';
export { type Cancel, CanceledError, cancelableTransaction } from './cancelable.ts';
export { copyBytes, copyRows } from './copy-rows.ts';
export {
  asJson,
  connect,
  type Fragment,
  isDatabaseAway,
  isDatabaseDown,
  isDatabaseState,
  isStatementTimeout,
  openPool,
  type PoolOptions,
  planWithoutValues,
  type Reserved,
  repeatOnDeadlock,
  type Sql,
  savepoint,
  setStatementTimeout,
  type Tx,
  transaction,
  unprepared,
} from './db.ts';
export { type Cluster, fillCluster, findCluster, initialize } from './embedded/cluster.ts';
export { makeDataDirectory } from './embedded/data-directory.ts';
export { majorVersion, runProgram } from './embedded/programs.ts';
export { type EmbeddedDatabase, startEmbeddedPostgres } from './embedded/start-postgres.ts';
export { startListener } from './listener.ts';
export { type Migration, migrate, missingOf, readMigrations, repeatWhileLocked } from './migrate.ts';
export { checkPooling } from './pooling.ts';
export { repeatUntilAnswered } from './repeat-until-answered.ts';
export { createStallWatch } from './stalled.ts';
export { tellWaits } from './tell-waits.ts';
export { beginsWith } from './text-prefix.ts';
