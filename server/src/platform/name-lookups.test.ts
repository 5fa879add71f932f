import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createNameLookups, type NameLookupsOptions } from './name-lookups.ts';

interface Asked {
  readonly host: string;
  answer(): void;
  fail(): void;
}

// Time is the test's: it passes by `pass` alone.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A system whose answers come when the test says so. */
function rig(places: Partial<NameLookupsOptions> = {}) {
  const asked: Asked[] = [];
  const addresses = [{ address: '1.1.1.1', family: 4 }];
  const lookup = createNameLookups(
    (host) =>
      new Promise((resolve, reject) => {
        asked.push({ host, answer: () => resolve(addresses), fail: () => reject(new Error('no')) });
      }),
    {
      isProvider: (host) => host.endsWith('.provider.example'),
      ...{ providersMax: 1, knownMax: 1, freshMax: 1, slowMax: 1, ...places },
    },
  );
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  const t = {
    /** The names whose lookup has begun and is not answered, in order. */
    begun: () => asked.map(({ host }) => host),
    async ask(host: string) {
      const answer = lookup(host).then(
        () => 'found',
        (error: { name: string }) => error.name,
      );
      await turn();
      return { answer };
    },
    async pass(ms: number) {
      vi.advanceTimersByTime(ms);
      await turn();
    },
    /** Ends a lookup that is under way. */
    async end(host: string, how: 'answer' | 'fail' = 'answer') {
      const at = asked.findIndex((one) => one.host === host);
      asked.splice(at, 1)[0]?.[how]();
      await turn();
    },
    async makeKnown(host: string) {
      await t.ask(host);
      await t.end(host);
    },
    async makeSlow(host: string, ms: number) {
      await t.ask(host);
      await t.pass(ms);
      await t.end(host, 'fail');
    },
  };
  return t;
}

describe('R-27 names that are never resolved', () => {
  it('do not keep one that is known to be quick from being asked for, however many they are', async () => {
    const t = rig({ freshMax: 2 });
    await t.makeKnown('known.example');
    for (let i = 0; i < 10; i++) await t.ask(`never-${i}.example`);
    expect(t.begun()).toEqual(['never-0.example', 'never-1.example']);
    await t.ask('known.example');
    expect(t.begun()).toContain('known.example');
  });

  it('do not keep a provider from being asked for, nor one that is new, when they were quick once', async () => {
    const t = rig({ knownMax: 2 });
    for (let i = 0; i < 5; i++) await t.makeKnown(`was-quick-${i}.example`);
    for (let i = 0; i < 5; i++) await t.ask(`was-quick-${i}.example`);
    expect(t.begun()).toEqual(['was-quick-0.example', 'was-quick-1.example']);
    await t.ask('push.provider.example');
    await t.ask('new.example');
    expect(t.begun().slice(2)).toEqual(['push.provider.example', 'new.example']);
  });

  it('have places of their own from the second time on: one that was never asked for does not wait for them', async () => {
    const t = rig();
    for (const host of ['a.example', 'b.example', 'c.example']) await t.makeSlow(host, 10_000);
    for (const host of ['a.example', 'b.example', 'c.example']) await t.ask(host);
    expect(t.begun()).toEqual(['a.example']);
    await t.ask('new.example');
    expect(t.begun()).toEqual(['a.example', 'new.example']);
  });

  it('come after one that was slow, but not as slow', async () => {
    const t = rig();
    for (const host of ['a.example', 'b.example']) await t.makeSlow(host, 10_000);
    await t.makeSlow('slowish.example', 1_500);
    for (const host of ['a.example', 'b.example', 'slowish.example']) await t.ask(host);
    await t.end('a.example', 'fail');
    expect(t.begun()).toEqual(['slowish.example']);
  });

  it('do not let others wait as long as a request has: what was not begun by then says so', async () => {
    const t = rig();
    const hanging = await t.ask('never.example');
    const waiting = await t.ask('waiting.example');
    await t.pass(2_000);
    expect(await waiting.answer).toBe('LookupNotBegunError');
    await t.ask('late.example');
    await t.end('never.example', 'fail');
    expect(await hanging.answer).toBe('Error');
    // The place went to who still waits, and then is free again.
    expect(t.begun()).toEqual(['late.example']);
    await t.end('late.example');
    await t.ask('next.example');
    expect(t.begun()).toEqual(['next.example']);
  });

  it('are known again once they were quick, and those that fail quickly are as new', async () => {
    const t = rig();
    await t.makeSlow('was-slow.example', 2_000);
    await t.makeKnown('was-slow.example');
    await t.ask('failing.example');
    await t.end('failing.example', 'fail');
    await t.ask('never.example');
    await t.ask('failing.example');
    await t.ask('was-slow.example');
    expect(t.begun()).toEqual(['never.example', 'was-slow.example']);
  });
});

describe('a name that many ask for at once', () => {
  it('is asked for once, and anew by whoever comes after the answer', async () => {
    const t = rig();
    const all = [await t.ask('a.example'), await t.ask('a.example'), await t.ask('a.example')];
    expect(t.begun()).toEqual(['a.example']);
    await t.end('a.example');
    expect(await Promise.all(all.map(({ answer }) => answer))).toEqual(['found', 'found', 'found']);
    await t.ask('a.example');
    expect(t.begun()).toEqual(['a.example']);
  });
});
