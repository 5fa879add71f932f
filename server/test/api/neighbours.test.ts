// One app floods the service beside another app, over real connections. The tests check statuses
// and the order of work, not times.
import { Agent, request as httpRequest } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { mintKey } from '../../src/teams/apps/key.ts';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });
const flooding = await t.newApp({ plan: 'unlimited' });
const calm = await t.newApp({ plan: 'unlimited' });

const floodConnections = 400;
/**
 * Clients and service share one event loop, which is the test's whole time: 8 s on an idle machine,
 * on PostgreSQL 15 as on 18.
 */
const roundsLeast = 4;
const floodAnswersLeast = 100;

/** Posts over one of the agent's connections. Resolves with the status. */
function post(agent: Agent, path: string, key: string, body: object): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest(t.url + path, {
      method: 'POST',
      agent,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
    asked.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode ?? 0)));
    asked.on('error', reject);
    asked.end(JSON.stringify(body));
  });
}

const device = () => ({ platform: 'web', token: t.pushSubscription() });

/** Keeps every connection of a flood busy with registrations by these keys until the test ends. */
function flood(nextKey: () => string): { readonly statuses: Record<number, number> } {
  const agent = new Agent({ keepAlive: true, maxSockets: floodConnections });
  const statuses: Record<number, number> = {};
  let isOver = false;
  const lanes = Array.from({ length: floodConnections }, async () => {
    const body = device();
    while (!isOver) {
      const status = await post(agent, '/v1/devices', nextKey(), body);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  });
  onTestFinished(async () => {
    isOver = true;
    await Promise.all(lanes);
    agent.destroy();
  });
  return { statuses };
}

it.each<[string, () => string, readonly number[]]>([
  // The flood is real: part of it is served and part refused.
  ['on the client key of one app', () => flooding.clientKey, [200, 503]],
  ['with random keys of a good checksum', () => mintKey('client').text, [401]],
])(
  'R-85 400 connections %s: another app beside them is never answered 503',
  async (_flood, nextKey, floodStatuses) => {
    const { statuses } = flood(nextKey);
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const calmBody = device();
    const asked: [string, string, object][] = [
      ['/v1/devices', calm.clientKey, calmBody],
      ['/v1/events', calm.clientKey, { name: 'opened' }],
      ['/v1/events', calm.serverKey, { name: 'opened' }],
      ['/v1/users', calm.serverKey, { external_id: 'ada' }],
      ['/v1/messages', calm.serverKey, { audience: { all: true }, content: { title: 'Sale' }, dry_run: true }],
    ];
    const answered: Record<string, Record<number, number>> = {};
    const isFlooded = (): boolean => floodStatuses.every((status) => (statuses[status] ?? 0) > floodAnswersLeast);
    let rounds = 0;
    for (; rounds < roundsLeast || !isFlooded(); rounds++) {
      const statuses = await Promise.all(asked.map(([path, key, body]) => post(agent, path, key, body)));
      for (const [i, [path]] of asked.entries()) {
        const counts = answered[path] ?? {};
        counts[statuses[i] ?? 0] = (counts[statuses[i] ?? 0] ?? 0) + 1;
        answered[path] = counts;
      }
    }
    expect(answered).toEqual({
      '/v1/devices': { 200: rounds },
      '/v1/events': { 200: 2 * rounds },
      '/v1/users': { 200: rounds },
      '/v1/messages': { 200: rounds },
    });
  },
  120_000,
);
