import { describe, expect, it } from 'vitest';
import { mintUuid } from '../values/ids.ts';
import { ApiError } from './api-error.ts';
import { createTurns } from './turns.ts';

const one = mintUuid();
const other = mintUuid();
const rules = { waitMsMax: 20, refusal: 'Too many. Try again.', retryAfterMs: 2_000 };

/** Work that runs until the test ends it. */
function longWork() {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { end: () => end(), work: () => ended };
}

describe('a turn', () => {
  it('is refused after a bounded wait, and goes to the next caller when work ends', async () => {
    const turns = createTurns({ turnsMax: 3, ...rules });
    const works = [longWork(), longWork()];
    const running = works.map(({ work }) => turns.run(one, work));
    const refused = await turns.run(one, async () => 'done').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ApiError);
    expect(refused).toMatchObject({ code: 'unavailable', details: { retryAfterMs: 2_000 } });
    for (const { end } of works) end();
    await Promise.all(running);
    // Turns that came too late for their callers are not lost.
    for (let i = 0; i < 6; i++) expect(await turns.run(one, async () => i)).toBe(i);
  });

  it('of another app is free, however many one app asks for', async () => {
    const turns = createTurns({ turnsMax: 3, ...rules });
    const works = Array.from({ length: 5 }, longWork);
    const running = works.map(({ work }) => turns.run(one, work).catch(() => 'refused'));
    expect(await turns.run(other, async () => 'done')).toBe('done');
    for (const { end } of works) end();
    await Promise.all(running);
  });

  it('is given back by work that fails', async () => {
    const turns = createTurns({ turnsMax: 1, ...rules });
    const fail = () => turns.run(one, () => Promise.reject(new Error('no')));
    await expect(fail()).rejects.toThrow('no');
    await expect(fail()).rejects.toThrow('no');
  });
});
