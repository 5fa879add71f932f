import { expect, it } from 'vitest';
import { connectionsMaxOfProcess, type ProcessRole, poolSizes, singleConnections } from './databases.ts';

it.each<ProcessRole>(['api', 'worker'])(
  'R-98 the pools of an %s process come to 16 connections, and are five at the most',
  (role) => {
    const sizes = Object.values(poolSizes[role]);
    expect(sizes.reduce((sum, size) => sum + size, singleConnections[role])).toBe(connectionsMaxOfProcess);
    expect(connectionsMaxOfProcess).toBe(16);
    expect(sizes.length).toBeLessThanOrEqual(5);
  },
);
