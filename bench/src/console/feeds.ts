// The memory of the API's process with many live feeds open, while a message goes to every phone.
import { type ClientRequest, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext } from 'playwright-core';
import { peakRssMbOf, rssMbOf } from '../../../rig/src/measure.ts';
import { progress, RunError } from '../../../rig/src/workbench.ts';
import { callForJson } from '../call-api.ts';
import { type Figure, figure } from '../figures.ts';
import type { ConsoleWorld } from './world.ts';

const feeds = 200;
/** The most that one caller may have open. */
const feedsOfCaller = 10;
const readEveryMs = 100;
const settleMs = 5000;
/** A feed looks once a second, and later where its looks take long. */
const toldWithinMs = 60_000;

interface Feed {
  readonly request: ClientRequest;
  /** Events since it was opened, and from the send on those since then. */
  told: number;
}

export interface SentMessage {
  readonly id: string;
  readonly figures: readonly Figure[];
}

/** The message that an earlier run on a kept database sent. */
export async function findSent(world: ConsoleWorld): Promise<SentMessage | undefined> {
  const { service, seeded } = world;
  const url = `${service.url}/v1/messages?limit=1`;
  const key = seeded.serverKey;
  const { data } = await callForJson<{ data: readonly { id: string }[] }>({ method: 'GET', url, key });
  return data[0] && { id: data[0].id, figures: [] };
}

export async function sendBesideFeeds(owner: BrowserContext, world: ConsoleWorld): Promise<SentMessage> {
  const { service, seeded } = world;
  const before = await rssOf(world);
  const opened: Feed[] = [];
  for (let caller = 0; caller < feeds / feedsOfCaller; caller++) {
    const token = await makeToken(owner, service.url, caller);
    const url = `${service.url}/console/api/apps/${seeded.id}/live`;
    opened.push(...(await Promise.all(Array.from({ length: feedsOfCaller }, () => follow(url, token)))));
  }
  await sleep(settleMs);
  const idle = await rssOf(world);
  for (const feed of opened) feed.told = 0;
  let most = 0;
  let isSending = true;
  const watching = (async () => {
    while (isSending) {
      most = Math.max(most, await rssOf(world));
      await sleep(readEveryMs);
    }
  })();
  const { id, sent, seconds } = await sendToPhones(world);
  await untilAllTold(opened);
  isSending = false;
  await watching;
  for (const feed of opened) feed.request.destroy();
  const told = opened.reduce((sum, feed) => sum + feed.told, 0);
  progress(`${sent} pushes in ${seconds.toFixed(1)} s beside ${feeds} feeds, which told of ${told} changes`);
  const peak = Math.max(...(await Promise.all(world.processes.api.map(peakRssMbOf))));
  const mb = (name: string, value: number, atMost?: number): Figure =>
    figure(`memory of the API's process, ${name}`, value, 'MB', { atMost });
  return {
    id,
    figures: [
      mb('before any feed', before),
      mb(`with ${feeds} feeds`, idle, 300),
      mb(`with ${feeds} feeds, the most during a send to ${sent} phones`, most, 300),
      mb('the most since it started', peak),
    ],
  };
}

/** A short send may end before the feeds look again. */
async function untilAllTold(opened: readonly Feed[]): Promise<void> {
  const deadline = performance.now() + toldWithinMs;
  for (;;) {
    const silent = opened.filter(({ told }) => told === 0).length;
    if (silent === 0) return;
    if (performance.now() > deadline) throw new RunError(`${silent} of ${feeds} feeds told nothing of a send`);
    await sleep(readEveryMs);
  }
}

const rssOf = async ({ processes }: ConsoleWorld): Promise<number> =>
  Math.max(...(await Promise.all(processes.api.map(rssMbOf))));

async function makeToken(owner: BrowserContext, origin: string, number: number): Promise<string> {
  const answer = await owner.request.post(`${origin}/console/api/tokens`, {
    headers: { origin },
    data: { name: `Feeds ${number}`, role: 'viewer' },
  });
  const { token } = (await answer.json()) as { token?: string };
  if (token === undefined) throw new RunError(`no token was made: ${answer.status()} ${await answer.text()}`);
  return token;
}

const retriesMax = 20;

/** Opens a feed. If the service is busy, tries again, as a browser does. */
async function follow(url: string, token: string): Promise<Feed> {
  for (let tries = 0; ; tries++) {
    const opened = await open(url, token);
    if (typeof opened !== 'number') return opened;
    if (opened !== 503 || tries === retriesMax) throw new RunError(`a feed was refused with ${opened}`);
    await sleep(500);
  }
}

/** Counts the events of a feed. Resolves with the first one, or with the status of a refusal. */
function open(url: string, token: string): Promise<Feed | number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent: false, headers: { authorization: `Bearer ${token}` } }, (response) => {
      if (response.statusCode !== 200) resolve(response.statusCode ?? 0);
      const feed = { request: asked, told: 0 };
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        feed.told += text.split('data:').length - 1;
        resolve(feed);
      });
      // The connection is destroyed at the end of the measurement.
      response.on('error', () => {});
    });
    asked.on('error', reject);
    asked.end();
  });
}

async function sendToPhones({ service, seeded: { serverKey: key } }: ConsoleWorld) {
  const startedAt = performance.now();
  const { id } = await callForJson<{ id: string }>({
    method: 'POST',
    url: `${service.url}/v1/messages`,
    key,
    body: {
      name: 'Autumn sale',
      audience: { filter: { field: 'device.platform', op: 'in', value: ['ios', 'android'] } },
      content: { title: 'Sale, {{first_name | default: "dear reader"}}', body: 'Everything is 20 % off.' },
    },
  });
  for (;;) {
    const message = await callForJson<{ finished_at: string | null; report: { sent: number; failed: number } }>({
      method: 'GET',
      url: `${service.url}/v1/messages/${id}`,
      key,
    });
    if (message.finished_at !== null) {
      const { sent, failed } = message.report;
      if (failed > 0) throw new RunError(`${failed} pushes failed`);
      return { id, sent, seconds: (performance.now() - startedAt) / 1000 };
    }
    await sleep(200);
  }
}
