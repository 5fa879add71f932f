import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createSpareTime } from './spare-time.ts';

function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe('spare time', () => {
  it('exists at first, is gone after nothing but work, and exists again after waiting', async () => {
    const hasSpareTime = createSpareTime();
    expect(hasSpareTime()).toBe(true);
    // Long enough for one sample, so that the next sample consists only of work.
    await sleep(60);
    hasSpareTime();
    work(200);
    expect(hasSpareTime()).toBe(false);
    // At least one sample consists only of waiting, whatever else this machine does.
    for (let waited = 0; !hasSpareTime(); waited++) {
      expect(waited).toBeLessThan(100);
      await sleep(100);
    }
  });
});
