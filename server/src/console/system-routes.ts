// The area Restore guard: whether sends and webhooks wait for an owner, and the act that lets them
// continue.
import { z } from 'zod';
import { pauseService, resumeService } from '../audit/pause-service.ts';
import type { Sql } from '../database/db.ts';
import { findPause } from '../database/restore-guard.ts';
import { ApiError } from '../http/api-error.ts';
import { routesWith } from '../http/route.ts';
import { component, count, instant } from '../http/schemas.ts';
import { countWaiting, dueCountedMax, type WaitingDeps } from '../messages/count-waiting.ts';
import { type ConsoleCaller, refuseGuest } from './caller.ts';

export interface SystemRouteDeps extends WaitingDeps {
  readonly txSql: Sql;
}

const pauseSchema = component(
  'Pause',
  z.strictObject({
    paused: z.boolean(),
    since: instant.nullable(),
    reason: z.enum(['operator', 'start', 'restore', 'other_server']).nullable(),
    waiting: z
      .strictObject({
        messages: count.describe('Messages of the organisation that would go out now.'),
        expired: count.describe('Messages whose time passed while they waited.'),
      })
      .nullable()
      .describe(`Null without a pause. Scheduled messages are counted up to ${dueCountedMax}.`),
  }),
);
const example = {
  paused: true,
  since: '2026-11-21T10:15:30.123Z',
  reason: 'restore',
  waiting: { messages: 12, expired: 3 },
};

const none = { paused: false, since: null, reason: null, waiting: null };

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
  }).handle(async (deps, { caller }) => read(deps, caller)),
  route({
    id: 'pause',
    method: 'POST',
    path: '/console/api/system/pause',
    access: 'session-or-token',
    least: 'owner',
    summary: 'Stop sends and webhooks; the API goes on accepting',
    answers: { 200: { description: 'The pause in force.', schema: pauseSchema, example } },
  }).handle(async (deps, { caller }) => {
    const { txSql, clock } = deps;
    refuseGuest(caller, 'pause the service');
    const by = { sql: txSql, clock, by: caller.by, orgId: caller.organisationId };
    if (!(await pauseService(by, 'operator'))) throw new ApiError('internal_error');
    return read(deps, caller);
  }),
  route({
    id: 'resume',
    method: 'POST',
    path: '/console/api/system/resume',
    access: 'session-or-token',
    least: 'owner',
    summary: 'Let sends and webhooks go on, also after a restore',
    answers: {
      200: { description: 'No pause.', schema: pauseSchema, example: none },
    },
  }).handle(async (deps, { caller }) => {
    const { txSql, clock } = deps;
    refuseGuest(caller, 'resume the service');
    await resumeService({ sql: txSql, clock, by: caller.by, orgId: caller.organisationId });
    return read(deps, caller);
  }),
];

async function read(deps: SystemRouteDeps, { organisationId }: ConsoleCaller) {
  const pause = await findPause(deps.sql);
  if (!pause) return none;
  return { paused: true, since: pause.at, reason: pause.reason, waiting: await countWaiting(deps, organisationId) };
}
