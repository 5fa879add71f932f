import { describe, expect, it } from 'vitest';
import { zero } from '../../ground/values/decimal.ts';
import type { AttributionClass } from './attribution.ts';
import { besideWhatStays } from './staying-counts.ts';

const row = (ofClass: AttributionClass, messageId: string | null, count: number, period = 0) => ({
  period,
  name: 'session_start' as const,
  currency: '',
  class: ofClass,
  messageId,
  count,
  amount: zero,
});
const old = (count: number, period = 0) => ({ period, messageId: 'old', count });

describe('counts beside what stays', () => {
  it('are added whole where enough is credited to nobody', () => {
    const rows = [row('unattributed', null, 3), row('influenced', 'a', 2), row('direct', 'b', 1)];
    expect(besideWhatStays(rows, [old(3)])).toEqual([row('influenced', 'a', 2), row('direct', 'b', 1)]);
  });

  it('give way where it is not, the influenced first, and only in that quarter of an hour', () => {
    const rows = [row('unattributed', null, 1), row('direct', 'b', 4), row('influenced', 'a', 2)];
    const other = [row('influenced', 'a', 2, 1)];
    expect(besideWhatStays([...rows, ...other], [old(4)])).toEqual([...other, row('direct', 'b', 3)]);
    expect(besideWhatStays([...rows, ...other], [old(7)])).toEqual(other);
  });

  it('are not of a message whose counts stay', () => {
    const rows = [row('direct', 'old', 2), row('influenced', 'a', 2)];
    expect(besideWhatStays(rows, [old(3)])).toEqual([row('influenced', 'a', 1)]);
    expect(besideWhatStays(rows, [])).toEqual([row('influenced', 'a', 2), row('direct', 'old', 2)]);
  });
});
