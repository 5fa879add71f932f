import { describe, expect, it } from 'vitest';
import { connectionsOf, embeddedConnections, judgeConnections } from './connection-budget.ts';

const limits = { most: 103, reserved: 3, roleMax: null, databaseMax: null, used: 0 };
const plan = (apis: number, workers: number) => ({ apis, workers });

describe('R-98 the embedded server', () => {
  it.each([
    [1, 100],
    [7, 154],
    [16, 298],
    [256, 4138],
  ])('has room for one API, %i workers, and commands beside them: %i connections', (workers, most) => {
    expect(embeddedConnections(plan(1, workers))).toBe(most);
    expect(most - connectionsOf(plan(1, workers))).toBeGreaterThanOrEqual(26);
  });
});

describe('R-98 a start on a given server', () => {
  it('says nothing where all of its processes have their connections', () => {
    expect(judgeConnections(plan(1, 5), limits)).toBeUndefined();
  });

  it.each([
    [
      'one process more',
      plan(1, 6),
      limits,
      'The database allows 100 connections (max_connections 103, 3 of them reserved) and 0 are in use, but 7 processes may need 112 (16 each): under load some work waits for a connection. Raise max_connections to at least 115, or start fewer workers.',
    ],
    [
      'others that use it',
      plan(1, 5),
      { ...limits, used: 5 },
      /allows 100 .* and 5 are in use, but 6 .* need 96 .* at least 104/,
    ],
    ['a limit of its role', plan(1, 2), { ...limits, roleMax: 40 }, /allows 40 connections \(.* the role's limit 40\)/],
    ['a limit of its database', plan(0, 3), { ...limits, databaseMax: 47 }, /allows 47 .*, the database's limit 47\)/],
  ])('warns with the numbers where there are too few: %s', (_why, processes, given, words) => {
    const said = judgeConnections(processes, given);
    if (typeof words === 'string') expect(said).toBe(words);
    else expect(said).toMatch(words);
  });

  it('is refused where not even one process has its connections', () => {
    expect(judgeConnections(plan(0, 1), { ...limits, most: 19 })).toBeUndefined();
    expect(() => judgeConnections(plan(0, 1), { ...limits, most: 18 })).toThrow(
      'The database allows 15 connections (max_connections 18, 3 of them reserved), and one process may need 16: raise max_connections to at least 19.',
    );
  });
});
