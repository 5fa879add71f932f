// Generated requests, as many as fit into seconds. `npm run fuzz` sends a hundred thousand.
import { expect, it } from 'vitest';
import { askAll, canary, setStage } from '../../../rig/src/fuzz/ask-all.ts';
import { setup } from '../setup.ts';

const requests = 500;

it(`R-75 ${requests} requests made from the description: every answer is one that it promises, and none shows another app`, async () => {
  const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
  const [app, stranger] = [
    await t.newApp({ channels: false }),
    await t.newApp({ name: `Stranger ${canary}`, channels: false }),
  ];
  const { findings, statuses } = await askAll(await setStage(t.url, app, stranger), { requests, seed: 20261122 });
  expect(findings).toEqual([]);
  // Some requests were right, most were not, and each was answered.
  for (const status of ['200', '400', '404']) expect(statuses[status]).toBeGreaterThan(10);
  expect(Object.values(statuses).reduce((sum, count) => sum + count, 0)).toBe(requests);
});
