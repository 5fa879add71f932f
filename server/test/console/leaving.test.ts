// A person who leaves a page of the console gives back what its report held: the statement in the
// database and the turn. An organisation has one turn at a time, however many apps it has.

import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { snapshot } from '../../src/insight/reports/snapshot.ts';
import { listLockWaits } from '../lock-waits.ts';
import { setup } from '../setup.ts';
import { makeOrganisation, origin, signIn } from './console.ts';

const t = await setup({ workers: false });
const owner = await signIn(t, 'owner');
const viewer = await signIn(t, 'viewer');
const [{ body: app }, { body: other }] = [
  await owner.send('POST', '/apps', { name: 'Left' }),
  await owner.send('POST', '/apps', { name: 'Left too' }),
];
const { body: sent } = await t
  .clientOf(app.server_key)
  .post('/v1/messages', { audience: { all: true }, content: { title: 'Sale' } });
const range = 'from=2027-01-01T00:00:00Z&to=2027-01-08T00:00:00Z';

/**
 * The statements of counts and reports that wait for a lock. Other pools ask for the same tables
 * now and then.
 */
const waiting = () => listLockWaits(t.sql, { name: 'carillon long' });

const reports = [
  ['the overview', '/overview'],
  ['revenue', `/reports/revenue?${range}`],
  ['engagement', `/reports/engagement?${range}`],
  ['the days of messages', `/reports/delivery?${range}`],
  ['devices', `/reports/devices?${range}`],
  ['events', `/reports/events?${range}`],
  ['deliverability', `/reports/deliverability?${range}`],
  ['the figures of a message', `/messages/${sent.id}/figures`],
] as const;

describe('a report whose reader has gone', () => {
  it.each(reports)('%s ends its statement in the database, and the next reader gets its turn', async (_name, path) => {
    const gone = new AbortController();
    await transaction(t.sql, async (tx) => {
      await tx`LOCK TABLE device_totals, attribution_progress, rollups, delivery_totals, messages IN ACCESS EXCLUSIVE MODE`;
      const asked = fetch(`${t.url}/console/api/apps/${app.id}${path}`, {
        headers: { cookie: viewer.cookie, origin, 'sec-fetch-site': 'same-origin' },
        signal: gone.signal,
      });
      asked.catch(() => undefined);
      await expect.poll(waiting).toHaveLength(1);
      gone.abort();
      await expect(asked).rejects.toThrow();
      await expect.poll(waiting).toHaveLength(0);
      // The lock is still held: the turn is free although no report could end by itself.
      const next = viewer.send('GET', `/apps/${app.id}${path}`);
      await expect.poll(waiting).toHaveLength(1);
      for (const pid of await waiting()) await tx`SELECT pg_cancel_backend(${pid})`;
      expect((await next).status).toBe(503);
    });
    expect((await viewer.send('GET', `/apps/${app.id}${path}`)).status).toBe(200);
  });
});

it('a dry run whose caller has gone ends its statement in the database', async () => {
  const gone = new AbortController();
  await transaction(t.sql, async (tx) => {
    await tx`LOCK TABLE audience IN ACCESS EXCLUSIVE MODE`;
    const asked = fetch(`${t.url}/console/api/apps/${app.id}/messages`, {
      method: 'POST',
      headers: { cookie: owner.cookie, origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
      body: JSON.stringify({ dry_run: true, audience: { all: true }, content: { title: 'Sale' } }),
      signal: gone.signal,
    });
    asked.catch(() => undefined);
    await expect.poll(waiting).toHaveLength(1);
    gone.abort();
    await expect.poll(waiting).toHaveLength(0);
  });
});

it('a statement that takes too long ends, and the report is refused with 503', async () => {
  const slow = snapshot({ sql: t.sql }, async (tx) => tx`SELECT pg_sleep(120)`, 20);
  await expect(slow).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('shorter range') });
  const write = snapshot({ sql: t.sql }, async (tx) => tx`DELETE FROM rollups`);
  await expect(write).rejects.toMatchObject({ code: '25006' });
});

it('R-62 two apps of one organisation share its turn, and another organisation is answered meanwhile', async () => {
  const organisationId = await makeOrganisation(t, 'Elsewhere');
  const stranger = await signIn(t, 'owner', organisationId);
  const { body: theirs } = await stranger.send('POST', '/apps', { name: 'Theirs' });
  const path = `/reports/deliverability?${range}`;
  let first = Promise.resolve(0);
  await transaction(t.sql, async (tx) => {
    await tx`LOCK TABLE delivery_totals IN ACCESS EXCLUSIVE MODE`;
    const statusOf = async (id: string) => (await viewer.send('GET', `/apps/${id}${path}`)).status;
    first = statusOf(app.id);
    await expect.poll(waiting).toHaveLength(1);
    expect(await statusOf(other.id)).toBe(503);
    expect((await stranger.send('GET', `/apps/${theirs.id}/reports/devices?${range}`)).status).toBe(200);
  });
  expect(await first).toBe(200);
});
