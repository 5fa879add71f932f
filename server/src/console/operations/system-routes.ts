// The area Restore guard: whether sends and webhooks wait for an owner, and the act that lets them
// continue.

import { z } from 'zod';
import { findPause } from '../../ground/database/restore-guard.ts';
import { ApiError } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import { component, count, instant } from '../../ground/http/schemas.ts';
import { countWaiting, dueCountedMax } from '../../sending/messages/count-waiting.ts';
import { pauseService, resumeService } from '../../teams/audit/pause-service.ts';
import { type AreaDeps, routesOfOrganisation } from './area.ts';
import { type ConsoleCaller, refuseGuest } from './caller.ts';

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
  {
    paused: true,
    since: '2026-11-21T10:15:30.123Z',
    reason: 'restore',
    waiting: { messages: 12, expired: 3 },
  },
);

const none = { paused: false, since: null, reason: null, waiting: null };

const route = routesOfOrganisation('System');

export const systemRoutes = [
  route('getPause', 'GET /system/pause', {
    least: 'viewer',
    summary: 'Whether sends and webhooks wait',
    answers: ok('The pause, of every process.', pauseSchema),
  }).handle(async (deps, { caller }) => read(deps, caller)),
  route('pause', 'POST /system/pause', {
    least: 'owner',
    summary: 'Stop sends and webhooks; the API goes on accepting',
    answers: ok('The pause in force.', pauseSchema),
  }).handle(async (deps, { caller }) => {
    const { txSql, clock } = deps;
    refuseGuest(caller, 'pause the service');
    const by = { sql: txSql, clock, by: caller.by, orgId: caller.organisationId };
    if (!(await pauseService(by, 'operator'))) {
      const message = 'No service has run on this database yet: start it with START_PAUSED=1.';
      throw new ApiError('internal_error', { message });
    }
    return read(deps, caller);
  }),
  route('resume', 'POST /system/resume', {
    least: 'owner',
    summary: 'Let sends and webhooks go on, also after a restore',
    answers: ok('No pause.', pauseSchema, { example: none }),
  }).handle(async (deps, { caller }) => {
    const { txSql, clock } = deps;
    refuseGuest(caller, 'resume the service');
    await resumeService({ sql: txSql, clock, by: caller.by, orgId: caller.organisationId });
    return read(deps, caller);
  }),
];

async function read(deps: AreaDeps, { organisationId }: ConsoleCaller) {
  const pause = await findPause(deps.sql);
  if (!pause) return none;
  return { paused: true, since: pause.at, reason: pause.reason, waiting: await countWaiting(deps, organisationId) };
}
