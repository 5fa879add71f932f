// `app create`, and how the commands that make or fill an app show it. The keys of a new app are
// printed once, here.
import { z } from 'zod';
import { appListRoutes, checkPlan } from '../../console/operations/app-routes.ts';
import { programName } from '../../ground/host/program-name.ts';
import { encodeId } from '../../ground/values/ids.ts';
import type { NewApp } from '../../teams/apps/create-app.ts';
import { warnOfOpenIdentity } from '../../teams/apps/open-identity.ts';
import type { App } from '../../teams/apps/queries.ts';
import { describePlan } from '../../teams/quotas/describe-plan.ts';
import { loadPlans, planNamed } from '../../teams/quotas/plan.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { callOperation, operationNamed } from './call-operation.ts';
import { command } from './command.ts';
import { withDatabaseOrNew } from './context.ts';
import { printable } from './render.ts';

export const commands = [
  command({
    form: 'app create <NAME>',
    help: 'make an app with one key of each scope',
    input: z.strictObject({
      name: z.string(),
      plan: z.string().describe('its plan; without it DEFAULT_PLAN').optional(),
    }),
    async run({ name, plan }) {
      const config = loadCommandConfig();
      const plans = loadPlans(config.plansFile, []);
      // A service does not start while an app has a plan that the service does not know.
      const defaultPlan = checkPlan(plans, plan ?? config.defaultPlan);
      return withDatabaseOrNew(config, async (context) => {
        const operation = operationNamed(appListRoutes, 'createApp');
        const document = await callOperation(context, { operation, given: { name }, parts: { defaultPlan } });
        const { id } = document as { id: string };
        const limits = describePlan(planNamed(plans, defaultPlan));
        const lift = `Its plan is ${limits}; lift it: ${programName} app plan ${id} unlimited`;
        return {
          document,
          columns: ['id', 'name', 'plan'],
          once: ['server_key', 'client_key'],
          also: [warnOfOpenIdentity(id), ...(limits === null ? [] : [lift])],
        };
      });
    },
  }),
];

/** Describes the keys of a new app for a person. The keys cannot be shown again. */
export function describeKeys({ serverKey, clientKey }: NewApp): string {
  return `  server key  ${serverKey}\n  client key  ${clientKey}\n\nShown this once.`;
}

export function describe(app: App): string {
  return `${printable(app.name)}  ${encodeId('app', app.id)}  plan ${app.plan}`;
}
