import { describe, expect, it } from 'vitest';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import { RequestPlaces } from './request-places.ts';

const many = (count: number): Uuid[] => Array.from({ length: count }, () => mintUuid()).sort();

function taking(places: RequestPlaces, id: Uuid, count: number): void {
  for (let i = 0; i < count; i++) places.take(id);
}

describe('requests of a process', () => {
  it('are all for one webhook where it is alone, and as many for each where there are more', () => {
    const places = new RequestPlaces();
    const [one = '', ...others] = many(50);
    expect(places.free([one])).toEqual([512]);
    taking(places, one, 64);
    expect(places.free([one])).toEqual([448]);
    expect(places.free([one, ...others])).toEqual([0, ...others.map(() => 10)]);
    expect(places.full()).toEqual([]);
    for (const other of others) taking(places, other, 10);
    expect(places.full()).toEqual([one, ...others]);
    places.giveBack(others[0] ?? '');
    expect(places.full()).not.toContain(others[0]);
  });

  it('leave one for each of any number, and no more than two thousand in all', () => {
    const places = new RequestPlaces();
    const ids = many(2_000);
    for (const id of ids) {
      expect(places.areTaken).toBe(false);
      expect(places.free([id])[0]).toBeGreaterThanOrEqual(1);
      places.take(id);
    }
    expect(places.areTaken).toBe(true);
    places.giveBack(ids[7] ?? '');
    expect(places.areTaken).toBe(false);
    expect(places.free([ids[7] ?? ''])).toEqual([1]);
  });
});
