// The areas Plan and Suspension: what an app may do in a month, how much of it is used, and whether
// it may do anything at all.

import { z } from 'zod';
import { ok } from '../../ground/http/route.ts';
import { component, count, exampleOf, instant } from '../../ground/http/schemas.ts';
import { cancelSuspended } from '../../sending/messages/cancel-message.ts';
import { bringForgottenForward } from '../../sending/webhooks/work-queries.ts';
import { deleteApp } from '../../teams/apps/delete-app.ts';
import { changePlan, changeSuspension } from '../../teams/apps/manage-app.ts';
import { type Plan, planNamed } from '../../teams/quotas/plan.ts';
import { readUsage } from '../../teams/quotas/read-usage.ts';
import { appSchema, checkPlan, present, presentListed } from './app-routes.ts';
import { routesOfApp, routesOfOrganisation } from './area.ts';
import { refuseGuest } from './caller.ts';
import { checkSeen, seenAt } from './schemas.ts';

const quota = z.strictObject({ per_month: count, unit: z.enum(['delivery', 'message']) }).nullable();
const planSchema = component(
  'Plan',
  z.strictObject({
    name: z.string(),
    sk_per_second: z.int().nullable().describe('Requests a second of a server key; null: no limit.'),
    ck_per_second: z.int().nullable(),
    quota: quota.describe('Null: no limit.'),
  }),
  { name: 'free', sk_per_second: 10, ck_per_second: 50, quota: { per_month: 10_000, unit: 'delivery' } },
);
const usage = component(
  'Usage',
  z.strictObject({
    plan: z.string(),
    used: count,
    limit: count.nullable(),
    unit: z.enum(['delivery', 'message']),
    resets_at: instant,
    months: z.array(z.strictObject({ month: z.string(), used: count })).describe('The last 12, newest first.'),
  }),
  {
    plan: 'free',
    used: 120,
    limit: 10_000,
    unit: 'delivery',
    resets_at: '2026-12-01T00:00:00.000Z',
    months: [{ month: '2026-11', used: 120 }],
  },
);

const own = routesOfOrganisation('Plan');
const ofApp = routesOfApp('Plan', { least: 'owner' });

export const planListRoutes = [
  own('listPlans', 'GET /plans', {
    least: 'owner',
    summary: 'List the plans',
    answers: ok(
      'Built in, or from PLANS_FILE.',
      component('PlanList', z.strictObject({ data: z.array(planSchema) }), { data: [exampleOf(planSchema)] }),
    ),
  }).handle(async ({ plans }) => ({ data: [...plans.values()].map(presentPlan) })),
];

export const planRoutes = [
  ofApp('changePlan', 'PUT /plan', {
    summary: 'Change the plan; accepted messages stay accepted',
    body: component('PlanChange', z.strictObject({ plan: z.string(), updated_at: seenAt }), {
      plan: 'pro',
      updated_at: '2026-11-21T10:15:30.123Z',
    }),
    answers: ok('The app. Every process follows within 2 s.', appSchema),
    refusals: ['changed_meanwhile'],
  }).handle(async (deps, { caller, body }) => {
    const { txSql, clock, plans } = deps;
    const { id } = caller.app;
    // Plans limit how much of the service other organisations use.
    refuseGuest(caller, 'change plans');
    const plan = checkPlan(plans, body.plan);
    await changePlan({ sql: txSql, clock, by: caller.by }, id, plan, (app) =>
      checkSeen(body.updated_at, app.updatedAt, () => presentListed(app)),
    );
    return present(deps, id);
  }),
  ofApp('getUsage', 'GET /usage', {
    summary: 'What the app has used of its quota',
    answers: ok('This month and the last twelve.', usage),
  }).handle(async ({ sql, clock, plans }, { caller }) =>
    readUsage({ sql, clock }, caller.app.id, planNamed(plans, caller.app.plan)),
  ),
  ...(['suspend', 'resume'] as const).map((word) =>
    ofApp(`${word}App`, `POST /${word}`, {
      summary:
        word === 'suspend' ? 'Refuse every request of an app and stop its sends' : 'End the suspension of an app',
      answers: ok('The app.', appSchema),
    }).handle(async (deps, { caller }) => {
      const { txSql, clock, teller } = deps;
      const { id } = caller.app;
      await changeSuspension({ sql: txSql, clock, by: caller.by }, id, word === 'suspend');
      if (word === 'suspend') await cancelSuspended({ sql: txSql, clock, teller }, id);
      else await bringForgottenForward(txSql);
      return present(deps, id);
    }),
  ),
];

export const deletionRoutes = [
  ofApp('deleteApp', 'DELETE /', {
    summary: 'Delete an app, its name typed again',
    description: 'The app refuses all requests at once. Rows are cleared in the background, tokens and profiles first.',
    body: component('AppDeletion', z.strictObject({ name: z.string() }), { name: 'Shop' }),
    answers: ok(
      'The rows that are being cleared. The audit log keeps a record of the app.',
      component(
        'DeletedApp',
        z.strictObject({ deleted: z.literal(true), devices: count, users: count, messages: count }),
        { deleted: true, devices: 1200, users: 800, messages: 12 },
      ),
    ),
  }).handle(async ({ txSql, clock, teller }, { caller, body }) => {
    const { id } = caller.app;
    const deleted = await deleteApp({ sql: txSql, clock, by: caller.by }, id, body.name);
    await cancelSuspended({ sql: txSql, clock, teller }, id);
    return { deleted: true as const, ...deleted };
  }),
];

function presentPlan({ name, skPerSecond, ckPerSecond, quota: limit }: Plan) {
  return {
    name,
    sk_per_second: skPerSecond,
    ck_per_second: ckPerSecond,
    quota: limit && { per_month: limit.perMonth, unit: limit.unit },
  };
}
