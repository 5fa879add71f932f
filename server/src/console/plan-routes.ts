// The areas Plan and Suspension: what an app may do in a month, how much of it is used, and whether
// it may do anything at all.
import { z } from 'zod';
import { deleteApp } from '../apps/delete-app.ts';
import { changePlan, changeSuspension } from '../apps/manage-app.ts';
import type { Clock } from '../database/clock.ts';
import type { Sql } from '../database/db.ts';
import type { Teller } from '../database/teller.ts';
import { routesWith } from '../http/route.ts';
import { component, count, instant } from '../http/schemas.ts';
import { cancelSuspended } from '../messages/cancel-message.ts';
import { type Plan, type Plans, planNamed } from '../quotas/plan.ts';
import { readUsage } from '../quotas/read-usage.ts';
import { bringForgottenForward } from '../webhooks/work-queries.ts';
import { type AppRouteDeps, appExample, appSchema, checkPlan, present, presentListed } from './app-routes.ts';
import { type AppCaller, type ConsoleCaller, refuseGuest } from './caller.ts';
import { appParam, checkSeen, seenAt } from './schemas.ts';

export interface PlanRouteDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly plans: Plans;
  readonly teller: Pick<Teller, 'tell'>;
  readonly sandboxed: AppRouteDeps['sandboxed'];
}

const quota = z.strictObject({ per_month: count, unit: z.enum(['delivery', 'message']) }).nullable();
const planSchema = component(
  'Plan',
  z.strictObject({
    name: z.string(),
    sk_per_second: z.int().nullable().describe('Requests a second of a server key; null: no limit.'),
    ck_per_second: z.int().nullable(),
    quota: quota.describe('Null: no limit.'),
  }),
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
);
const planExample = {
  name: 'free',
  sk_per_second: 10,
  ck_per_second: 50,
  quota: { per_month: 10_000, unit: 'delivery' },
};

const own = routesWith<PlanRouteDeps, ConsoleCaller>('Plan');
const ofApp = routesWith<PlanRouteDeps, AppCaller>('Plan');

export const planListRoutes = [
  own({
    id: 'listPlans',
    method: 'GET',
    path: '/console/api/plans',
    access: 'session-or-token',
    least: 'owner',
    summary: 'List the plans',
    answers: {
      200: {
        description: 'Built in, or from PLANS_FILE.',
        schema: component('PlanList', z.strictObject({ data: z.array(planSchema) })),
        example: { data: [planExample] },
      },
    },
  }).handle(async ({ plans }) => ({ data: [...plans.values()].map(presentPlan) })),
];

export const planRoutes = [
  ofApp({
    id: 'changePlan',
    method: 'PUT',
    path: '/console/api/apps/:app/plan',
    access: 'session-or-token',
    least: 'owner',
    summary: 'Change the plan; accepted messages stay accepted',
    params: appParam,
    body: {
      schema: component('PlanChange', z.strictObject({ plan: z.string(), updated_at: seenAt })),
      example: { plan: 'pro', updated_at: '2026-11-21T10:15:30.123Z' },
    },
    answers: {
      200: { description: 'The app. Every process follows within 2 s.', schema: appSchema, example: appExample },
    },
    refusals: ['not_found', 'changed_meanwhile'],
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
  ofApp({
    id: 'getUsage',
    method: 'GET',
    path: '/console/api/apps/:app/usage',
    access: 'session-or-token',
    least: 'owner',
    summary: 'What the app has used of its quota',
    params: appParam,
    answers: {
      200: {
        description: 'This month and the last twelve.',
        schema: usage,
        example: {
          plan: 'free',
          used: 120,
          limit: 10_000,
          unit: 'delivery',
          resets_at: '2026-12-01T00:00:00.000Z',
          months: [{ month: '2026-11', used: 120 }],
        },
      },
    },
    refusals: ['not_found'],
  }).handle(async ({ sql, clock, plans }, { caller }) =>
    readUsage({ sql, clock }, caller.app.id, planNamed(plans, caller.app.plan)),
  ),
  ...(['suspend', 'resume'] as const).map((word) =>
    ofApp({
      id: `${word}App`,
      method: 'POST',
      path: `/console/api/apps/:app/${word}` as const,
      access: 'session-or-token',
      least: 'owner',
      summary:
        word === 'suspend' ? 'Refuse every request of an app and stop its sends' : 'End the suspension of an app',
      params: appParam,
      answers: { 200: { description: 'The app.', schema: appSchema, example: appExample } },
      refusals: ['not_found'],
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
  ofApp({
    id: 'deleteApp',
    method: 'DELETE',
    path: '/console/api/apps/:app',
    access: 'session-or-token',
    least: 'owner',
    summary: 'Delete an app, its name typed again',
    description: 'The app refuses all requests at once. Rows are cleared in the background, tokens and profiles first.',
    params: appParam,
    body: { schema: component('AppDeletion', z.strictObject({ name: z.string() })), example: { name: 'Shop' } },
    answers: {
      200: {
        description: 'The rows that are being cleared. The audit log keeps a record of the app.',
        schema: component(
          'DeletedApp',
          z.strictObject({ deleted: z.literal(true), devices: count, users: count, messages: count }),
        ),
        example: { deleted: true, devices: 1200, users: 800, messages: 12 },
      },
    },
    refusals: ['not_found'],
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
