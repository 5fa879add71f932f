import { describe, expect, it } from 'vitest';
import { createNameLookups } from './name-lookups.ts';

interface Asked {
  readonly host: string;
  answer(): void;
  fail(): void;
}

/** A system whose answers come when the test says so. */
function rig(strangersMax: number) {
  const asked: Asked[] = [];
  let now = 0;
  const addresses = [{ address: '1.1.1.1', family: 4 }];
  const lookup = createNameLookups(
    (host) =>
      new Promise((resolve, reject) => {
        asked.push({ host, answer: () => resolve(addresses), fail: () => reject(new Error('no')) });
      }),
    { strangersMax, nowMs: () => now },
  );
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    asked,
    /** The names whose lookup has begun, in order. */
    begun: () => asked.map(({ host }) => host),
    async ask(host: string) {
      const answer = lookup(host).then(
        () => 'found',
        (error: { code?: string }) => error.code ?? 'failed',
      );
      await turn();
      return { answer };
    },
    async pass(ms: number) {
      now += ms;
      await turn();
    },
    async makeKnown(host: string) {
      const { answer } = await this.ask(host);
      asked.splice(0).at(-1)?.answer();
      await answer;
      await turn();
    },
  };
}

describe('R-27 names that are never resolved', () => {
  it('do not keep one that is known to be quick from being asked for, however many they are', async () => {
    const t = rig(2);
    await t.makeKnown('known.example');
    for (let i = 0; i < 10; i++) await t.ask(`never-${i}.example`);
    expect(t.begun()).toEqual(['never-0.example', 'never-1.example']);
    await t.ask('known.example');
    expect(t.begun()).toContain('known.example');
  });

  it('hold a place each, and what waits for one too long is not asked for any more', async () => {
    const t = rig(1);
    const hanging = await t.ask('never.example');
    const early = await t.ask('early.example');
    await t.pass(6_000);
    const late = await t.ask('late.example');
    t.asked[0]?.fail();
    expect(await hanging.answer).toBe('failed');
    expect(await early.answer).toBe('EAI_AGAIN');
    await t.pass(0);
    expect(t.begun()).toEqual(['never.example', 'late.example']);
    t.asked[1]?.answer();
    expect(await late.answer).toBe('found');
    // The place is free again.
    await t.ask('next.example');
    expect(t.begun()).toContain('next.example');
  });

  it('are strangers again once they were slow, or failed', async () => {
    const t = rig(1);
    await t.makeKnown('slow.example');
    await t.makeKnown('failing.example');
    await t.ask('slow.example');
    await t.ask('failing.example');
    await t.pass(2_000);
    for (const one of t.asked.splice(0)) one.host === 'slow.example' ? one.answer() : one.fail();
    await t.pass(0);
    await t.ask('never.example');
    await t.ask('slow.example');
    await t.ask('failing.example');
    expect(t.begun()).toEqual(['never.example']);
  });
});

describe('a name that many ask for at once', () => {
  it('is asked for once, and anew by whoever comes after the answer', async () => {
    const t = rig(1);
    const all = [await t.ask('a.example'), await t.ask('a.example'), await t.ask('a.example')];
    expect(t.begun()).toEqual(['a.example']);
    t.asked[0]?.answer();
    expect(await Promise.all(all.map(({ answer }) => answer))).toEqual(['found', 'found', 'found']);
    await t.pass(0);
    await t.ask('a.example');
    expect(t.begun()).toEqual(['a.example', 'a.example']);
  });
});
