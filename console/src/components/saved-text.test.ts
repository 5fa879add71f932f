import { expect, test } from 'vitest';
import { tellSaved } from './saved-text.ts';

const effect = 'Messages that are sent from now on use it.';

test('a save of everything tells its effect', () => {
  expect(tellSaved([], effect)).toEqual({ message: `Saved. ${effect}` });
});

test('values of another type are named, and nothing is said to be saved', () => {
  const size = { key: 'size', expected: 'number', received: 'string', value: 'big', kept: 3 } as const;
  const vip = { key: 'vip', expected: 'boolean', received: 'number', value: 1, kept: null } as const;
  expect(tellSaved([size, vip], effect)).toEqual({
    color: 'yellow',
    message: 'Not everything was saved: size takes “number” and got “text”; vip takes “yes or no” and got “number”.',
  });
});
