import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pushWithinMs } from './batch.ts';
import { createOutcomeBacklog } from './outcome-backlog.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = Number.POSITIVE_INFINITY;
const now = () => performance.now();

describe('R-97 outcomes that wait to be written', () => {
  it('stop pushes at the bound, and let them go on when there is room again', async () => {
    const backlog = createOutcomeBacklog(3);
    const [first, second] = [backlog.begin(now()), backlog.begin(now())];
    for (const one of [first, first]) one.add();
    expect(backlog.untilRoom(never, undefined)).toBeUndefined();
    second.add();
    const room = backlog.untilRoom(never, undefined);
    expect(room).toBeDefined();
    second.end();
    await room;
    expect(backlog.untilRoom(never, undefined)).toBeUndefined();
  });
});

describe('R-02 outcomes that have waited for longer than they may', () => {
  it('stop every push of the process until they are written', async () => {
    const backlog = createOutcomeBacklog();
    const [old, young] = [backlog.begin(now()), backlog.begin(now() + 200)];
    vi.advanceTimersByTime(250);
    expect(backlog.untilRoom(250, undefined)).toBeUndefined();
    vi.advanceTimersByTime(1);
    const room = backlog.untilRoom(250, undefined);
    expect(room).toBeDefined();
    old.end();
    await room;
    expect(backlog.untilRoom(250, undefined)).toBeUndefined();
    vi.advanceTimersByTime(200);
    expect(backlog.untilRoom(250, undefined)).toBeDefined();
    young.end();
    expect(backlog.untilRoom(250, undefined)).toBeUndefined();
  });

  it('hold up their own batch for as long as it takes, and others for no longer than a lease allows pushes', () => {
    const backlog = createOutcomeBacklog();
    const stuck = backlog.begin(now());
    vi.advanceTimersByTime(pushWithinMs - 1);
    expect(backlog.untilRoom(250, undefined)).toBeDefined();
    vi.advanceTimersByTime(1);
    expect(backlog.untilRoom(250, undefined)).toBeUndefined();
    expect(backlog.untilRoom(250, stuck.sinceMs)).toBeDefined();
    backlog.begin(now());
    vi.advanceTimersByTime(251);
    expect(backlog.untilRoom(250, undefined)).toBeDefined();
  });

  it('R-100 are looked at again after a second', async () => {
    const backlog = createOutcomeBacklog();
    backlog.begin(now());
    vi.advanceTimersByTime(251);
    const room = backlog.untilRoom(250, undefined);
    vi.advanceTimersByTime(1000);
    await room;
    expect(backlog.untilRoom(250, undefined)).toBeDefined();
  });
});
