// Sends one push to one device by the normal path and quota, for an operator who tests a channel:
// the process that is asked accepts, charges, sends and records it like every other message.

import { type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { validate } from '../../ground/http/validate.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import { clientEventsDefault } from '../../teams/apps/caller.ts';
import type { App } from '../../teams/apps/queries.ts';
import { type Actor, describeActor } from '../../teams/audit/actor.ts';
import { recordAudit } from '../../teams/audit/record-audit.ts';
import type { Plan } from '../../teams/quotas/plan.ts';
import type { ChannelId } from '../channels/channel.ts';
import {
  allDeliveries,
  listMessageDeliveries,
  presentDeliveries,
  type TimelineDeps,
} from '../delivery/list-timeline.ts';
import type { AcceptMessage } from './accept-message.ts';
import { type AwaitDeps, awaitOutcomes } from './await-outcomes.ts';
import { messageRequestSchema } from './message.ts';

export interface SendTestDeps {
  readonly accept: AcceptMessage;
  readonly wait: AwaitDeps;
  readonly timeline: TimelineDeps;
  /** For the audit log's entry of the test. */
  readonly audit: { readonly txSql: Sql; readonly clock: Clock };
}

export interface TestToSend {
  readonly app: App;
  readonly plan: Plan;
  /** The channel that reaches the device. */
  readonly channel: ChannelId;
  readonly deviceId: Uuid;
  readonly by: Actor;
}

export interface TestedDelivery {
  readonly messageId: Uuid;
  /** Undefined: the push has no outcome yet, and its message goes on. */
  readonly delivery: Awaited<ReturnType<typeof presentDeliveries>>[number] | undefined;
}

/** Resolves with the delivery when its outcome is known, or when the wait for a send is over. */
export async function sendTest(
  { accept, wait, timeline, audit }: SendTestDeps,
  { app, plan, channel, deviceId, by }: TestToSend,
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
  const after = { message_id: encodeId('msg', accepted.id), device_id: encodeId('dev', deviceId) };
  const change = { appId: app.id, action: 'channel.test', target: channel, after } as const;
  await transaction(audit.txSql, (tx) => recordAudit({ tx, clock: audit.clock, by }, change));
  await awaitOutcomes(wait, app.id, accepted.id, accepted.claim);
  const { placed } = await listMessageDeliveries(timeline, accepted.id, allDeliveries, null, 1);
  const [delivery] = await presentDeliveries(timeline, app.id, placed);
  return { messageId: accepted.id, delivery };
}
