// GET /healthz looks at the process only. GET /readyz looks at the database, the schema, the last
// poll and draining. Neither names versions, hosts or secrets. Anybody may ask, however
// often, so the database is asked at most once a second.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import type { Clock } from '../../ground/database/clock.ts';
import { missingMigrations } from '../../ground/database/migrations.ts';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component } from '../../ground/http/schemas.ts';
import { Answer } from '../../ground/http/server.ts';
import { askRarely } from '../../ground/pacing/ask-rarely.ts';

export interface HealthDeps {
  readonly sql: Sql;
  /** Callers need this pool and `sql`. If either has no connection, callers get 503. */
  readonly txSql: Sql;
  readonly clock: Clock;
  /** True: the process is about to stop. It still serves, but wants no new callers. */
  readonly isLeaving: () => boolean;
  /**
   * Milliseconds since the slowest loop looked for work, in this process or in the workers beside
   * it. Negative where there is no such loop.
   */
  readonly lastPollAgeMs: () => number;
}

const pollAgeMsMax = 10_000;
const databaseAskedEveryMs = 1000;
/**
 * Together with the second for which an answer holds, this is less than the two seconds after which
 * a probe must have noticed.
 */
const databaseAnswersWithinMs = 900;

const health = component('Health', z.strictObject({ status: z.literal('ok') }), { status: 'ok' });
const readiness = component('Readiness', z.strictObject({ status: z.enum(['ready', 'not ready']) }));

export interface HealthRouteDeps {
  /** Never rejects, and answers within a probe's time. */
  readonly isReady: () => Promise<boolean>;
}

const route = routesWith<HealthRouteDeps, unknown>({ tag: 'Service', access: 'public' });

export const healthRoutes = [
  route('getHealth', 'GET /healthz', {
    ignoresUnknownQuery: true,
    summary: 'Is the process running?',
    answers: ok('The process is running.', health),
  }).handle(async () => ({ status: 'ok' })),
  route('getReadiness', 'GET /readyz', {
    ignoresUnknownQuery: true,
    summary: 'Is the service ready for requests?',
    answers: {
      200: {
        description: 'Database, schema and worker are in order.',
        schema: readiness,
        example: { status: 'ready' },
      },
      503: {
        description: 'Database, schema or worker is not in order, or the process is about to stop.',
        schema: readiness,
        example: { status: 'not ready' },
      },
    },
  }).handle(async ({ isReady }) => {
    return (await isReady()) ? { status: 'ready' } : new Answer(503, {}, { status: 'not ready' });
  }),
];

/** Builds the check behind GET /readyz. */
export function createReadiness(deps: HealthDeps): HealthRouteDeps['isReady'] {
  // The schema only moves forward, so a complete schema is not checked again.
  let isSchemaComplete = false;
  const askDatabase = async (): Promise<boolean> => {
    await Promise.all([deps.sql`SELECT 1`, deps.txSql`SELECT 1`]);
    isSchemaComplete ||= (await missingMigrations(deps.sql)).length === 0;
    return isSchemaComplete;
  };
  const isDatabaseReady = askRarely(askDatabase, { everyMs: databaseAskedEveryMs, steadyMs: deps.clock.steadyMs });
  const look = async (): Promise<boolean> => {
    if (deps.isLeaving() || deps.lastPollAgeMs() > pollAgeMsMax) return false;
    return isDatabaseReady();
  };
  return () => {
    const tooLate = new Promise<false>((resolve) => setTimeout(() => resolve(false), databaseAnswersWithinMs).unref());
    return Promise.race([look().catch(() => false), tooLate]);
  };
}
