import { describe, expect, it } from 'vitest';
import type { WaitingBackend } from './history-files.ts';
import { describeWaits } from './waits.ts';

const waiting = (fields: Partial<WaitingBackend> = {}): WaitingBackend => ({
  pid: 7,
  name: 'carillon send',
  state: 'active',
  event: 'Lock:transactionid',
  ms: 150,
  query: '\n    UPDATE messages\n SET n = 1',
  behind: [8],
  ...fields,
});
const look = (at: number, backends: readonly WaitingBackend[], lateMs = 3) => ({ at, lateMs, backends });

describe('the description of waits', () => {
  it('lists each wait once, with its longest duration and its blockers', () => {
    const looks = [look(100, [waiting()]), look(200, [waiting({ ms: 250 })]), look(300, [])];
    expect(describeWaits(looks, 100, 300)).toBe(
      'carillon send 7 waited for Lock:transactionid for 250 ms, behind 8: UPDATE messages SET n = 1; the watcher was late by 3 ms at most',
    );
  });

  it('names connections with an idle open transaction, the longest first', () => {
    const silent = waiting({ pid: 8, state: 'idle in transaction', event: 'Client:ClientRead', ms: 900, behind: [] });
    expect(describeWaits([look(100, [waiting(), silent])], 0, 100)).toMatch(
      /^carillon send 8 was idle in transaction for 900 ms: .*; carillon send 7 waited/,
    );
  });

  it('leaves out waits of other times', () => {
    expect(describeWaits([look(100, [waiting()]), look(200, [], 700)], 150, 250)).toBe(
      'no connection waited; the watcher was late by 700 ms at most',
    );
    expect(describeWaits([look(100, [waiting()])], 150, 250)).toBe('nobody looked at the database meanwhile');
  });
});
