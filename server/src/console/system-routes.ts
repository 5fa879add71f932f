// The area Restore guard: whether sends and webhooks wait for an owner, and the word that lets them go
// on.
import { z } from 'zod';
import { pauseService, resumeService } from '../audit/pause-service.ts';
import type { Clock } from '../database/clock.ts';
import type { Sql } from '../database/db.ts';
import { findPause, type Pause } from '../database/restore-guard.ts';
import { ApiError } from '../http/api-error.ts';
import { routesWith } from '../http/route.ts';
import { component, instant } from '../http/schemas.ts';
import type { ConsoleCaller } from './caller.ts';

export interface SystemRouteDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
}

const pauseSchema = component(
  'Pause',
  z.strictObject({
    paused: z.boolean(),
    since: instant.nullable(),
    reason: z.enum(['operator', 'start', 'restore', 'other_server']).nullable(),
  }),
);
const example = { paused: true, since: '2026-11-21T10:15:30.123Z', reason: 'restore' };

const route = routesWith<SystemRouteDeps, ConsoleCaller>('System');

export const systemRoutes = [
  route({
    id: 'getPause',
    method: 'GET',
    path: '/console/api/system/pause',
    access: 'session-or-token',
    least: 'viewer',
    summary: 'Whether sends and webhooks wait',
    answers: { 200: { description: 'The pause, of every process.', schema: pauseSchema, example } },
  }).handle(async ({ sql }) => present(await findPause(sql))),
  route({
    id: 'pause',
    method: 'POST',
    path: '/console/api/system/pause',
    access: 'session-or-token',
    least: 'owner',
    summary: 'Stop sends and webhooks; the API goes on accepting',
    answers: { 200: { description: 'The pause in force.', schema: pauseSchema, example } },
  }).handle(async ({ txSql, clock }, { caller }) => {
    const begun = await pauseService({ sql: txSql, clock, by: caller.by, orgId: caller.organisationId }, 'operator');
    if (!begun) throw new ApiError('internal_error');
    return present(begun);
  }),
  route({
    id: 'resume',
    method: 'POST',
    path: '/console/api/system/resume',
    access: 'session-or-token',
    least: 'owner',
    summary: 'Let sends and webhooks go on, also after a restore',
    answers: {
      200: { description: 'No pause.', schema: pauseSchema, example: { paused: false, since: null, reason: null } },
    },
  }).handle(async ({ sql, txSql, clock }, { caller }) => {
    await resumeService({ sql: txSql, clock, by: caller.by, orgId: caller.organisationId });
    return present(await findPause(sql));
  }),
];

function present(pause: Pause | null) {
  return { paused: pause !== null, since: pause?.at ?? null, reason: pause?.reason ?? null };
}
