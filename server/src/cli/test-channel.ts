// `channel test`: sends one push to one device by the normal path. This process accepts, charges,
// sends and records the push as it does for every message, so the command works whether the service
// runs or not.

import type { App } from '../apps/queries.ts';
import { type ChannelId, channelOfPlatform } from '../channels/channel.ts';
import { loadInstance } from '../database/instance.ts';
import { describePause, pauseWhereMoved } from '../database/restore-guard.ts';
import type { Attempt } from '../delivery/delivery.ts';
import { listTargets } from '../delivery/targets.ts';
import { parseToken } from '../devices/token.ts';
import { createFairSlots } from '../ground/fair-slots.ts';
import { decodeId, encodeId, type Uuid } from '../ground/ids.ts';
import { createLog } from '../ground/log.ts';
import { programName } from '../ground/program-name.ts';
import { createAcceptMessage } from '../messages/accept-message.ts';
import { createFinishes } from '../messages/await-outcomes.ts';
import { sendTest, type TestedDelivery } from '../messages/send-test.ts';
import { loadMasterKey } from '../process/master-key.ts';
import { createService, type Service } from '../process/service.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { loadPlans } from '../quotas/plan.ts';
import { type Answer, printable } from './answer.ts';
import { CommandError } from './command-error.ts';
import { type CommandContext, withDatabase } from './context.ts';
import { endpointRulesOf } from './endpoint-rules.ts';
import { getApp } from './find-app.ts';

export async function testChannel(appName: string, channel: ChannelId, deviceText: string): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async (context) => {
    const app = await getApp(context.sql, appName);
    const paused = await pauseWhereMoved(context.sql);
    if (paused) throw new CommandError(`${describePause(paused)}. Nothing is sent until: ${programName} resume`);
    if (app.suspendedAt) throw new CommandError(`${printable(app.name)} is suspended: ${programName} app resume APP`);
    const deviceId = await getDeviceOf(context, app, channel, deviceText);
    const { messageId, delivery } = await send(context, { app, channel, deviceId });
    return present(messageId, delivery);
  });
}

async function getDeviceOf({ sql, config }: CommandContext, app: App, channel: ChannelId, text: string): Promise<Uuid> {
  const id = decodeId('dev', text);
  const [device] = id === undefined ? [] : await listTargets(sql, app.id, [id], []);
  if (!device) throw new CommandError(`${printable(app.name)} has no device '${printable(text)}'`);
  if (channelOfPlatform[device.platform] !== channel) {
    throw new CommandError(`The device ${text} is reached by ${channelOfPlatform[device.platform]}, not by ${channel}`);
  }
  if (!device.isActive) throw new CommandError(`The device ${text} is not active: it has to register again`);
  // This is checked because the shell may lack settings of the service. The push would then fail as
  // if the device were at fault, and retire it.
  const parsed = parseToken(device.platform, device.token, endpointRulesOf(config));
  if ('issues' in parsed) {
    throw new CommandError(`By the settings of this shell the device cannot be reached: ${parsed.issues[0]?.message}`);
  }
  return device.deviceId;
}

async function send(
  context: CommandContext,
  { app, channel, deviceId }: { readonly app: App; readonly channel: ChannelId; readonly deviceId: Uuid },
): Promise<TestedDelivery> {
  const { config, sql, clock, by } = context;
  const plan = loadPlans(config.plansFile, [app.plan]).get(app.plan);
  if (!plan) throw new Error(`no plan for ${app.plan}`);
  const service = await openService(context);
  try {
    const { run, localInstants } = service;
    const pools = { sql, txSql: sql, workSql: sql, audienceSlots: createFairSlots({ slotsMax: 1, perFree: 1 }) };
    const accept = createAcceptMessage({ ...pools, clock, isPaused: run.isPaused, localInstants, teller: run.teller });
    const wait = {
      sql,
      finishes: createFinishes(),
      run,
      sendWaitMs: config.sendWaitMs,
      track: () => undefined,
      isStopping: () => false,
    };
    return await sendTest(
      { accept, wait, timeline: run, audit: { txSql: sql, clock } },
      { app, plan, channel, deviceId, by },
    );
  } finally {
    await service.close();
  }
}

// Opens the parts of a service process. None of them listens or runs a loop.
async function openService({ config, databaseUrl, sql, loadSeal }: CommandContext): Promise<Service> {
  // A wrong master key is found here, before anything is opened.
  await loadInstance(sql, await loadSeal());
  const masterKeys = await loadMasterKey(config);
  return createService({ config, databaseUrl, masterKeys, log: createLog(config.logLevel, 'command') });
}

function present(messageUuid: Uuid, delivery: TestedDelivery['delivery']): Answer {
  const messageId = encodeId('msg', messageUuid);
  const document = { message_id: messageId, delivery: delivery ?? null };
  if (!delivery) return { document, text: messageId, problem: 'The push has no outcome yet; its message goes on' };
  const attempts = delivery.timeline.filter((entry): entry is Attempt => entry.type === 'attempt');
  const answered = attempts.map(({ provider, latency_ms }) => {
    const words = provider?.http_status ?? provider?.transport_error ?? 'no answer';
    return `  ${words} after ${latency_ms} ms ${printable((provider?.body ?? '').slice(0, 200))}`.trimEnd();
  });
  const text = [`${messageId}  ${delivery.status}`, ...answered].join('\n');
  if (delivery.status === 'sent') return { document, text };
  return { document, text, problem: `The push is ${delivery.status}: ${delivery.error_code ?? 'unknown'}` };
}
