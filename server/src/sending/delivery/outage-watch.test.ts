import { describe, expect, it } from 'vitest';
import type { Clock } from '../../ground/database/clock.ts';
import { createOutageWatch } from './outage-watch.ts';

function setUp() {
  let nowMs = 1_000_000;
  const clock = { steadyMs: () => nowMs, steps: 0 };
  const watch = createOutageWatch(clock as unknown as Clock);
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  /** The host sleeps, and its sleep counts as passed time. */
  const sleep = (ms: number): void => {
    pass(ms);
    clock.steps++;
  };
  return { watch, pass, sleep };
}

describe('R-97 a process takes over no expired lease', () => {
  it('in its first six seconds', () => {
    const { watch, pass } = setUp();
    pass(5999);
    expect(watch.mayTakeOver()).toBe(false);
    pass(1);
    expect(watch.mayTakeOver()).toBe(true);
  });

  it('while the database does not answer, however long that lasts', () => {
    const { watch, pass } = setUp();
    pass(6000);
    watch.noteAway();
    pass(600_000);
    expect(watch.mayTakeOver()).toBe(false);
  });

  it('in the six seconds after the first answer, whatever is answered after that', () => {
    const { watch, pass } = setUp();
    watch.noteAway();
    pass(60_000);
    watch.noteAnswered();
    pass(5999);
    watch.noteAnswered();
    expect(watch.mayTakeOver()).toBe(false);
    pass(1);
    expect(watch.mayTakeOver()).toBe(true);
  });

  it('in the six seconds after the host slept, or a clock was set (R-100)', () => {
    const { watch, pass, sleep } = setUp();
    pass(6000);
    sleep(7_200_000);
    expect(watch.mayTakeOver()).toBe(false);
    pass(5999);
    expect(watch.mayTakeOver()).toBe(false);
    pass(1);
    expect(watch.mayTakeOver()).toBe(true);
  });

  it('but a new process does as soon as it hears that the owners had their time', () => {
    const { watch, pass } = setUp();
    expect(watch.mayAsk()).toBe(true);
    watch.noteWasThere();
    expect(watch.mayTakeOver()).toBe(true);
    pass(60_000);
    watch.noteAway();
    watch.noteAnswered();
    watch.noteWasThere();
    expect(watch.mayTakeOver()).toBe(false);
  });

  it('although it hears that, when it has noticed an outage or a step itself', () => {
    for (const happen of ['noteAway', 'sleep'] as const) {
      const { watch, sleep } = setUp();
      if (happen === 'sleep') sleep(7_200_000);
      else watch.noteAway();
      watch.noteAnswered();
      watch.noteWasThere();
      expect(watch.mayTakeOver()).toBe(false);
    }
  });
});
