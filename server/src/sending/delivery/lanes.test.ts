import { describe, expect, it } from 'vitest';
import { createLanes, laneOf } from './lanes.ts';

const app = '0192f3a4-7b6c-4d5e-8f90-1a2b3c4d5e6f';
const otherApp = '0192f3a4-7b6c-4d5e-8f90-1a2b3c4d5e70';

describe('a lane', () => {
  it('stands still until its time and is open from then on', () => {
    let nowMs = 1000;
    const lanes = createLanes(() => nowMs);
    const lane = laneOf(app, 1, 'push.example');
    expect(lanes.pausedForMs(lane)).toBeUndefined();
    lanes.pause(lane, 30_000);
    nowMs = 30_999;
    expect(lanes.pausedForMs(lane)).toBe(1);
    nowMs = 31_000;
    expect(lanes.pausedForMs(lane)).toBeUndefined();
  });

  it('is not opened earlier by an answer that asks for less', () => {
    const lanes = createLanes(() => 0);
    const lane = laneOf(app, 1, null);
    lanes.pause(lane, 60_000);
    lanes.pause(lane, 10_000);
    expect(lanes.pausedForMs(lane)).toBe(60_000);
  });

  it.each([
    ['another app', laneOf(otherApp, 1, 'push.example')],
    ['another credential', laneOf(app, 2, 'push.example')],
    ['another host', laneOf(app, 1, 'other.example')],
  ])('R-62 of %s stays open', (_whose, other) => {
    const lanes = createLanes(() => 0);
    lanes.pause(laneOf(app, 1, 'push.example'), 60_000);
    expect(lanes.pausedForMs(other)).toBeUndefined();
  });

  it('stays paused while so many others are paused that reopened ones are forgotten', () => {
    let nowMs = 0;
    const lanes = createLanes(() => nowMs);
    lanes.pause(laneOf(app, 1, 'long.example'), 60_000);
    for (let i = 0; i < 10_000; i++) lanes.pause(laneOf(app, 1, `${i}.example`), 1000);
    nowMs = 1000;
    lanes.pause(laneOf(app, 1, 'new.example'), 60_000);
    expect(lanes.pausedForMs(laneOf(app, 1, 'long.example'))).toBe(59_000);
    expect(lanes.pausedForMs(laneOf(app, 1, 'new.example'))).toBe(60_000);
    expect(lanes.pausedForMs(laneOf(app, 1, '7.example'))).toBeUndefined();
  });
});
