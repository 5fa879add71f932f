// Sends one push to one device by the normal path and quota, for an operator who tests a channel: the
// process that is asked accepts, charges, sends and records it as any message.
import { clientEventsDefault } from '../apps/caller.ts';
import type { App } from '../apps/queries.ts';
import { type Actor, describeActor } from '../audit/actor.ts';
import {
  allDeliveries,
  listMessageDeliveries,
  presentDeliveries,
  type TimelineDeps,
} from '../delivery/list-timeline.ts';
import { encodeId, type Uuid } from '../ground/ids.ts';
import { validate } from '../http/validate.ts';
import type { Plan } from '../quotas/plan.ts';
import type { AcceptMessage } from './accept-message.ts';
import { type AwaitDeps, awaitOutcomes } from './await-outcomes.ts';
import { messageRequestSchema } from './message.ts';

export interface SendTestDeps {
  readonly accept: AcceptMessage;
  readonly wait: AwaitDeps;
  readonly timeline: TimelineDeps;
}

export interface TestedDelivery {
  readonly messageId: Uuid;
  /** Undefined: the push has no outcome yet, and its message goes on. */
  readonly delivery: Awaited<ReturnType<typeof presentDeliveries>>[number] | undefined;
}

/** Resolves with the delivery when its outcome is known, or when the wait for a send is over. */
export async function sendTest(
  { accept, wait, timeline }: SendTestDeps,
  { app, plan, deviceId, by }: { readonly app: App; readonly plan: Plan; readonly deviceId: Uuid; readonly by: Actor },
): Promise<TestedDelivery> {
  const request = validate(messageRequestSchema, {
    audience: { device_ids: [encodeId('dev', deviceId)] },
    content: {
      title: 'Carillon rings',
      body: `A test push from the ${by.kind === 'cli' ? 'command line' : 'console'} has arrived.`,
    },
    name: 'Channel test',
  });
  const caller = {
    appId: app.id,
    keyId: '',
    keyName: describeActor(by),
    scope: 'server',
    plan: app.plan,
    clientEvents: clientEventsDefault,
  } as const;
  const accepted = await accept(caller, plan, request, null);
  await awaitOutcomes(wait, app.id, accepted.id, accepted.claim);
  const { placed } = await listMessageDeliveries(timeline, accepted.id, allDeliveries, null, 1);
  const [delivery] = await presentDeliveries(timeline, app.id, placed);
  return { messageId: accepted.id, delivery };
}
