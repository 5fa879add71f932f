// GET /healthz looks at the process only; GET /readyz at the database, the schema, the last poll and draining. Neither
// names versions, hosts or secrets. Anybody may ask, however often: the database is asked at most once a second.
import { askRarely } from './platform/ask-rarely.ts';
import type { Clock } from './platform/clock.ts';
import type { Sql } from './platform/db.ts';
import { Answer, type BoundRoute } from './platform/http-server.ts';
import { missingMigrations } from './platform/migrate.ts';

export interface HealthDeps {
  readonly sql: Sql;
  /** Callers need both: where one of the two cannot be had, they are told 503. */
  readonly txSql: Sql;
  readonly clock: Clock;
  /** The process is going away: it still serves, and wants no new callers. */
  readonly isLeaving: () => boolean;
  /** How long ago this process's send loop looked for work; 0 where it has none. */
  readonly lastPollAgeMs: () => number;
}

const pollAgeMsMax = 10_000;
const databaseAskedEveryMs = 1000;
/** With the second for which an answer holds: less than the two after which a probe must have noticed. */
const databaseAnswersWithinMs = 900;

export function healthRoutes<Caller>(deps: HealthDeps): BoundRoute<Caller>[] {
  // The schema only moves forward: once complete, it need not be asked again.
  let isSchemaComplete = false;
  const askDatabase = async (): Promise<boolean> => {
    await Promise.all([deps.sql`SELECT 1`, deps.txSql`SELECT 1`]);
    isSchemaComplete ||= (await missingMigrations(deps.sql)).length === 0;
    return isSchemaComplete;
  };
  const isDatabaseReady = askRarely(askDatabase, { everyMs: databaseAskedEveryMs, steadyMs: deps.clock.steadyMs });
  const isReady = async (): Promise<boolean> => {
    if (deps.isLeaving() || deps.lastPollAgeMs() > pollAgeMsMax) return false;
    return isDatabaseReady();
  };
  return [
    {
      method: 'GET',
      path: '/healthz',
      access: 'public',
      ignoresUnknownQuery: true,
      handle: async () => ({ status: 'ok' }),
    },
    {
      method: 'GET',
      path: '/readyz',
      access: 'public',
      ignoresUnknownQuery: true,
      async handle() {
        const tooLate = new Promise<false>((resolve) =>
          setTimeout(() => resolve(false), databaseAnswersWithinMs).unref(),
        );
        const ready = await Promise.race([isReady().catch(() => false), tooLate]);
        const body = `${JSON.stringify({ status: ready ? 'ready' : 'not ready' })}\n`;
        return new Answer(ready ? 200 : 503, { 'content-type': 'application/json; charset=utf-8' }, body);
      },
    },
  ];
}
