import { describe, expect, it } from 'vitest';
import { ApiError } from '../platform/api-error.ts';
import { mintUuid } from '../platform/ids.ts';
import { createCountTurns } from './count-turns.ts';

const one = mintUuid();
const other = mintUuid();

/** A count that takes until it is told to end. */
function longCount() {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { end: () => end(), work: () => ended };
}

describe('a count', () => {
  it('waits for a turn only so long, and is then told to come again; who is served leaves its turn to the next', async () => {
    const turns = createCountTurns({ turnsMax: 3, waitMsMax: 20 });
    const counts = [longCount(), longCount()];
    const running = counts.map(({ work }) => turns.run(one, work));
    const refused = await turns.run(one, async () => 'counted').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ApiError);
    expect(refused).toMatchObject({ code: 'unavailable', details: { retryAfterMs: 2_000 } });
    for (const { end } of counts) end();
    await Promise.all(running);
    // Turns that came too late for those who asked are not lost.
    for (let i = 0; i < 6; i++) expect(await turns.run(one, async () => i)).toBe(i);
  });

  it('of one app leaves a turn to another, however many it asks for', async () => {
    const turns = createCountTurns({ turnsMax: 3, waitMsMax: 20 });
    const counts = Array.from({ length: 5 }, longCount);
    const running = counts.map(({ work }) => turns.run(one, work).catch(() => 'refused'));
    expect(await turns.run(other, async () => 'counted')).toBe('counted');
    for (const { end } of counts) end();
    await Promise.all(running);
  });

  it('that fails gives its turn back', async () => {
    const turns = createCountTurns({ turnsMax: 1, waitMsMax: 20 });
    const fail = () => turns.run(one, () => Promise.reject(new Error('no')));
    await expect(fail()).rejects.toThrow('no');
    await expect(fail()).rejects.toThrow('no');
  });
});
