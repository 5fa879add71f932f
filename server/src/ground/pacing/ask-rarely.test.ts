import { expect, it } from 'vitest';
import { askRarely } from './ask-rarely.ts';

/** A question whose answers the test provides. */
function setup() {
  let nowMs = 0;
  const open: ((answer: string | Error) => void)[] = [];
  const ask = () =>
    new Promise<string>((resolve, reject) => {
      open.push((answer) => (typeof answer === 'string' ? resolve(answer) : reject(answer)));
    });
  return {
    raise: askRarely(ask, { everyMs: 1000, steadyMs: () => nowMs }),
    pass: (ms: number) => {
      nowMs += ms;
    },
    answer: (number: number, answer: string | Error) => open[number]?.(answer),
    get asked() {
      return open.length;
    },
  };
}

it('a hundred callers at once share one question and its answer', async () => {
  const t = setup();
  const raised = Array.from({ length: 100 }, () => t.raise());
  t.answer(0, 'yes');
  expect(new Set(await Promise.all(raised))).toEqual(new Set(['yes']));
  expect(t.asked).toBe(1);
});

it('the question is asked again a second after the last time, and not before', async () => {
  const t = setup();
  void t.raise();
  t.answer(0, 'yes');
  await t.raise();
  t.pass(999);
  expect(await t.raise()).toBe('yes');
  t.pass(1);
  const raised = t.raise();
  t.answer(1, 'no');
  expect(await raised).toBe('no');
  expect(t.asked).toBe(2);
});

it('the question is not asked a second time before its answer, however long that takes', async () => {
  const t = setup();
  const first = t.raise();
  t.pass(60_000);
  const later = t.raise();
  t.answer(0, 'late');
  expect(await Promise.all([first, later])).toEqual(['late', 'late']);
  expect(t.asked).toBe(1);
});

it('a refusal is an answer: all callers get it, and a second later the question is asked again', async () => {
  const t = setup();
  const raised = [t.raise(), t.raise()];
  t.answer(0, new Error('gone'));
  for (const each of raised) await expect(each).rejects.toThrow('gone');
  await expect(t.raise()).rejects.toThrow('gone');
  t.pass(1000);
  const next = t.raise();
  t.answer(1, 'back');
  expect(await next).toBe('back');
});
