// A new process takes over expired leases at once where others have had the database all along.
import { describe, expect, it } from 'vitest';
import { createLeases } from '../../src/sending/delivery/leases.ts';
import { createOutageWatch, type OutageWatch, ownersFirstMs } from '../../src/sending/delivery/outage-watch.ts';
import { notePresence, wasPresent } from '../../src/sending/delivery/presence-queries.ts';
import type { Bundle } from '../setup.ts';
import { setUpHeld, until } from './held.ts';

/** As the heartbeat of a process that holds leases, for this many seconds. */
async function note(t: Bundle, seconds: number): Promise<void> {
  for (let second = 0; second <= seconds; second++) {
    if (second > 0) t.clock.advance(1000);
    await notePresence(t.sql, t.clock);
  }
}

const isKnown = (t: Bundle): Promise<boolean> => wasPresent(t.sql, t.clock, ownersFirstMs);

/** The watch of a process that starts now, after its first look. */
async function startProcess(t: Bundle): Promise<OutageWatch> {
  const outages = createOutageWatch(t.clock);
  let looks = 0;
  const counted: OutageWatch = {
    ...outages,
    isNew() {
      looks++;
      return outages.isNew();
    },
  };
  const leases = createLeases({ sql: t.sql, clock: t.clock, log: t.service.run.log, outages: counted });
  await until(async () => outages.mayTakeOver() || looks > 1);
  leases.stop();
  return outages;
}

describe('R-03 a new process', () => {
  it('takes over at once where a process with leases has had the database for six seconds', async () => {
    const t = await setUpHeld();
    await note(t, 6);
    expect((await startProcess(t)).mayTakeOver()).toBe(true);
  });

  it('waits where nobody held a lease', async () => {
    const t = await setUpHeld();
    expect((await startProcess(t)).mayTakeOver()).toBe(false);
  });
});

describe('R-97 the database counts as having been away', () => {
  it('for six seconds after nobody reached it for longer than three', async () => {
    const t = await setUpHeld();
    await note(t, 6);
    expect(await isKnown(t)).toBe(true);
    t.clock.advance(4000);
    expect(await isKnown(t)).toBe(false);
    await note(t, 5);
    expect(await isKnown(t)).toBe(false);
    await note(t, 1);
    expect(await isKnown(t)).toBe(true);
  });

  it('for six seconds after its clock was set back, or forward (R-100)', async () => {
    const t = await setUpHeld();
    for (const ms of [-7_200_000, 7_200_000]) {
      await note(t, 6);
      expect(await isKnown(t)).toBe(true);
      t.clock.advance(ms);
      expect(await isKnown(t)).toBe(false);
      await note(t, 5);
      expect(await isKnown(t)).toBe(false);
      await note(t, 1);
    }
  });

  it('not because several processes note it at the same time', async () => {
    const t = await setUpHeld();
    await note(t, 6);
    for (let second = 0; second < 3; second++) {
      t.clock.advance(1000);
      await Promise.all(Array.from({ length: 4 }, () => notePresence(t.sql, t.clock)));
      expect(await isKnown(t)).toBe(true);
    }
  });
});
