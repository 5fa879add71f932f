import { describe, expect, it } from 'vitest';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { RequestPlaces } from './request-places.ts';

const many = (count: number): Uuid[] => Array.from({ length: count }, () => mintUuid()).sort();
const alone = { haveCompany: false, nowMs: 0 };

function taking(places: RequestPlaces, id: Uuid, count: number, nowMs = 0): void {
  for (let i = 0; i < count; i++) places.take(id, nowMs);
}

describe('requests of a process', () => {
  it('are all for a single webhook, and shared equally by several', () => {
    const places = new RequestPlaces();
    const [one = '', ...others] = many(50);
    expect(places.free([one], alone)).toEqual([768]);
    taking(places, one, 64);
    expect(places.free([one], alone)).toEqual([704]);
    expect(places.free([one, ...others], alone)).toEqual([0, ...others.map(() => 15)]);
    expect(places.full()).toEqual([]);
    for (const other of others) taking(places, other, 15);
    expect(places.full()).toEqual([one, ...others]);
  });

  it('are given to a webhook again when half of its share is free, some at once', () => {
    const places = new RequestPlaces();
    const [one = '', ...others] = many(50);
    for (const each of [one, ...others]) taking(places, each, 15);
    for (let left = 14; left >= 8; left--) {
      places.giveBack(one);
      expect(places.full()).toContain(one);
    }
    places.giveBack(one);
    expect(places.full()).toEqual(others);
    expect(places.free([one], alone)).toEqual([8]);
  });

  it('are shared with the webhooks that were called just now, while more are waiting', () => {
    const places = new RequestPlaces();
    const ids = many(64);
    const turn = ids.slice(0, 16);
    for (const id of ids.slice(16)) {
      taking(places, id, 1, 1_000);
      places.giveBack(id);
    }
    expect(places.free(turn, { haveCompany: true, nowMs: 1_001 })).toEqual(turn.map(() => 12));
    expect(places.free(turn, { haveCompany: false, nowMs: 1_001 })).toEqual(turn.map(() => 48));
    // The others were told nothing for longer than their connections are kept.
    expect(places.free(turn, { haveCompany: true, nowMs: 5_001 })).toEqual(turn.map(() => 48));
  });

  it('leave one for each of any number, and no more than two thousand in all', () => {
    const places = new RequestPlaces();
    const ids = many(2_000);
    for (const id of ids) {
      expect(places.areTaken).toBe(false);
      expect(places.free([id], { haveCompany: true, nowMs: 0 })[0]).toBeGreaterThanOrEqual(1);
      places.take(id, 0);
    }
    expect(places.areTaken).toBe(true);
    places.giveBack(ids[7] ?? '');
    expect(places.areTaken).toBe(false);
    expect(places.free([ids[7] ?? ''], alone)).toEqual([1]);
  });
});
