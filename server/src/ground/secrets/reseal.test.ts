import { describe, expect, it } from 'vitest';
import { resealRows } from './reseal.ts';
import { SealError } from './seal.ts';

/**
 * Rows in memory: `former` ones are to be sealed again, `broken` ones do not open, and `busy` ones
 * are changed by somebody once.
 */
function tableOf(rows: string[], atOnce = 2) {
  return {
    rows,
    list: async (after: number | undefined) =>
      rows.flatMap((state, i) => (i > (after ?? -1) && state !== 'current' ? [i] : [])).slice(0, atOnce),
    async replace(i: number) {
      if (rows[i] === 'broken') throw new SealError('altered');
      if (rows[i] === 'away') throw new Error('the database is away');
      const isAsRead = rows[i] !== 'busy';
      rows[i] = isAsRead ? 'current' : 'former';
      return isAsRead;
    },
    nameOf: (i: number) => `row ${i}`,
  };
}

describe('R-45 secrets that are sealed again', () => {
  it('are all secrets, in any number of lots', async () => {
    const table = tableOf(Array(7).fill('former'));
    expect(await resealRows(table)).toEqual({ count: 7, unreadable: [] });
    expect(new Set(table.rows)).toEqual(new Set(['current']));
    expect(await resealRows(table)).toEqual({ count: 0, unreadable: [] });
  });

  it('are tried again where somebody changed them meanwhile', async () => {
    const table = tableOf(['former', 'busy', 'former', 'busy']);
    expect(await resealRows(table)).toEqual({ count: 4, unreadable: [] });
    expect(new Set(table.rows)).toEqual(new Set(['current']));
  });

  it('are all but those that neither key opens, which stay as they are and are named once', async () => {
    const table = tableOf(['former', 'broken', 'broken', 'busy', 'broken', 'former']);
    expect(await resealRows(table)).toEqual({ count: 3, unreadable: ['row 1', 'row 2', 'row 4'] });
    expect(table.rows).toEqual(['current', 'broken', 'broken', 'current', 'broken', 'current']);
  });

  it('are none when anything else goes wrong, which ends the run', async () => {
    await expect(resealRows(tableOf(['away']))).rejects.toThrow('the database is away');
  });
});
