// Measures the work `latency` with one device on an idle service: the time from a backend's request
// until the push reaches the provider, and until the answer with its outcome is back.
import { setTimeout as sleep } from 'node:timers/promises';
import { progress, RunError, type Workbench } from '../../rig/src/workbench.ts';
import { callForJson } from './call-api.ts';
import { content } from './content.ts';
import { watchOthers } from './costs.ts';
import { makeCredentials } from './credentials.ts';
import { deviceMaker } from './devices.ts';
import { percentiles } from './figures.ts';
import { makeApp } from './own-app.ts';
import { startOwnService } from './own-service.ts';
import { startReceiver } from './receiver.ts';
import type { Measured, RunOptions } from './results.ts';

const sends = { full: 200, quick: 20 };
/** Pause between an answer and the next request, so that every send finds the service idle. */
const pauseMs = 100;

export async function measureLatency(workbench: Workbench, { isQuick }: RunOptions): Promise<Measured> {
  const count = isQuick ? sends.quick : sends.full;
  const receiver = await startReceiver(workbench);
  const { service, postgres } = await startOwnService(workbench, { environment: receiver.environment });
  const credentials = makeCredentials(receiver.address);
  const app = await makeApp(workbench, service, { way: 'webpush', credentials });
  const browser = deviceMaker('webpush', receiver.address)();
  const device = await callForJson<{ id: string }>({
    method: 'POST',
    url: `${service.url}/v1/devices`,
    key: app.clientKey,
    body: { platform: 'web', token: browser.channel === 'webpush' && browser.subscription },
  });

  await receiver.reset({ notesArrivals: true });
  const countOthers = await watchOthers();
  const startedAtMs: number[] = [];
  const responseMs: number[] = [];
  for (let i = 0; i < count; i++) {
    await sleep(pauseMs);
    const from = performance.now();
    const answer = await callForJson<{ id: string; report: { sent: number } }>({
      method: 'POST',
      url: `${service.url}/v1/messages`,
      key: app.serverKey,
      body: { audience: { device_ids: [device.id] }, content },
    });
    responseMs.push(performance.now() - from);
    if (answer.report.sent !== 1) throw new RunError(`a send came to ${JSON.stringify(answer)}`);
    startedAtMs.push(performance.timeOrigin + from);
  }

  const foreignCores = await countOthers();

  await receiver.expectPushes({ webpush: count });
  // Sends run one after another, so arrivals are in the order of the sends.
  const arrivedAtMs = await receiver.arrivals();
  const toProviderMs = startedAtMs.map((atMs, i) => (arrivedAtMs[i] ?? Number.NaN) - atMs);
  progress(`${count} sends, one after the other`);
  return {
    params: { channel: 'webpush', sends: count, pause_ms: pauseMs },
    figures: [
      ...percentiles('request to provider', toProviderMs, [0.5, 0.99], { atMost: 10 }),
      ...percentiles('request to answer', responseMs, [0.5, 0.99], { atMost: 20 }),
    ],
    foreignCores,
    postgres,
  };
}
