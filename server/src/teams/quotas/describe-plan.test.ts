import { expect, it } from 'vitest';
import { describePlan } from './describe-plan.ts';
import { builtInPlans, planNamed } from './plan.ts';

const plan = (name: string) => planNamed(builtInPlans, name);

it.each([
  ['the free plan', plan('free'), "'free': 10 requests/s, 10,000 deliveries a month"],
  ['a larger one', plan('pro'), "'pro': 300 requests/s, 5,000,000 deliveries a month"],
  ['one without limits', plan('unlimited'), null],
  [
    'one that counts messages and nothing else',
    { name: 'house', skPerSecond: null, ckPerSecond: null, quota: { perMonth: 500, unit: 'message' as const } },
    "'house': 500 messages a month",
  ],
  [
    'one that limits client keys alone',
    { name: 'open', skPerSecond: null, ckPerSecond: 5, quota: null },
    "'open': 5 requests/s by client key",
  ],
])('says what a plan allows, and nothing where it limits nothing: %s', (_what, given, words) => {
  expect(describePlan(given)).toBe(words);
});
