// `channel test`: sends one push to one device by the normal path. This process accepts, charges,
// sends and records the push as it does for every message, so the command works whether the service
// runs or not.
import { channelAreaRoutes } from '../../console/operations/channel-routes.ts';
import { loadInstance } from '../../ground/database/instance.ts';
import { describePause, pauseWhereMoved } from '../../ground/database/restore-guard.ts';
import { createLog } from '../../ground/host/log.ts';
import { programName } from '../../ground/host/program-name.ts';
import { readId } from '../../ground/http/api-error.ts';
import { createFairSlots } from '../../ground/pacing/fair-slots.ts';
import { parseToken } from '../../people/devices/token.ts';
import { listTargets } from '../../sending/delivery/targets.ts';
import { createAcceptMessage } from '../../sending/messages/accept-message.ts';
import { createFinishes } from '../../sending/messages/await-outcomes.ts';
import type { SendTestDeps } from '../../sending/messages/send-test.ts';
import { loadMasterKey } from '../process/master-key.ts';
import { createService, type Service } from '../process/service.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type Answer, CommandError } from './answer.ts';
import { callOperation, operationNamed } from './call-operation.ts';
import type { Given } from './command.ts';
import { type CommandContext, withDatabase } from './context.ts';
import { endpointRulesOf } from './endpoint-rules.ts';
import { getApp } from './find-app.ts';

export async function testChannel(given: Given): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async (context) => {
    const paused = await pauseWhereMoved(context.sql);
    if (paused) throw new CommandError(`${describePause(paused)}. Nothing is sent until: ${programName} resume`);
    await checkDevice(context, given);
    const service = await openService(context);
    try {
      const operation = operationNamed(channelAreaRoutes, 'testChannel');
      const parts = { sending: sendingOf(context, service) };
      const document = (await callOperation(context, { operation, given, parts })) as Tested;
      return { document, problem: problemOf(document) };
    } finally {
      await service.close();
    }
  });
}

/** The answer of the operation, as far as its problem needs it. */
interface Tested {
  readonly status: string | null;
  readonly error_code: string | null;
}

function problemOf({ status, error_code: code }: Tested): string | undefined {
  if (status === 'sent') return undefined;
  return status === null
    ? 'The push has no outcome yet; its message goes on'
    : `The push is ${status}: ${code ?? 'unknown'}`;
}

async function checkDevice({ sql, config }: CommandContext, given: Given): Promise<void> {
  const { id: appId } = await getApp(sql, String(given['app']));
  const text = String(given['device_id']);
  const [device] = await listTargets(sql, appId, [readId('device', text)], []);
  // The operation says what is wrong with another app's device.
  if (!device) return;
  if (!device.isActive) throw new CommandError(`The device ${text} is not active: it has to register again`);
  // This is checked because the shell may lack settings of the service. The push would then fail as
  // if the device were at fault, and retire it.
  const parsed = parseToken(device.platform, device.token, endpointRulesOf(config));
  if ('issues' in parsed) {
    throw new CommandError(`By the settings of this shell the device cannot be reached: ${parsed.issues[0]?.message}`);
  }
}

// Opens the parts of a service process. None of them listens or runs a loop.
async function openService({ config, databaseUrl, sql, loadSeal }: CommandContext): Promise<Service> {
  // A wrong master key is found here, before anything is opened.
  await loadInstance(sql, await loadSeal());
  const masterKeys = await loadMasterKey(config);
  return createService({ config, databaseUrl, masterKeys, log: createLog(config.logLevel, 'command') });
}

function sendingOf({ sql, clock, config }: CommandContext, { run, localInstants }: Service): SendTestDeps {
  const pools = { sql, txSql: sql, workSql: sql, audienceSlots: createFairSlots({ slotsMax: 1, perFree: 1 }) };
  return {
    accept: createAcceptMessage({ ...pools, clock, isPaused: run.isPaused, localInstants, teller: run.teller }),
    wait: {
      sql,
      finishes: createFinishes(),
      run,
      sendWaitMs: config.sendWaitMs,
      track: () => undefined,
      isStopping: () => false,
    },
    timeline: run,
    audit: { txSql: sql, clock },
  };
}
