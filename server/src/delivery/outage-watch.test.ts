import { describe, expect, it } from 'vitest';
import type { Clock } from '../database/clock.ts';
import { createOutageWatch } from './outage-watch.ts';

function setUp() {
  let nowMs = 1_000_000;
  const watch = createOutageWatch({ steadyMs: () => nowMs } as Clock);
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { watch, pass };
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
});
