import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createNameLookups, type NameLookupsOptions } from './name-lookups.ts';

interface Asked {
  readonly host: string;
  answer(): void;
  fail(): void;
}

// Only `pass` moves the time.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const newAddress = '2.2.2.2';

/** A system whose answers come when the test says so. */
function rig(places: Partial<NameLookupsOptions> = {}) {
  const asked: Asked[] = [];
  let addresses = [{ address: '1.1.1.1', family: 4 }];
  const lookup = createNameLookups(
    (host) =>
      new Promise((resolve, reject) => {
        asked.push({ host, answer: () => resolve(addresses), fail: () => reject(new Error('no')) });
      }),
    {
      isProvider: (host) => host === 'push.provider.example',
      isOfProvider: (host) => host.endsWith('.provider.example'),
      providersMax: 1,
      ofProvidersMax: 1,
      knownMax: 1,
      freshMax: 1,
      slowMax: 1,
      ...places,
    },
  );
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  const t = {
    /** Gives names another address from now on. */
    move() {
      addresses = [{ address: newAddress, family: 4 }];
    },
    /** The names whose lookup has begun and is not answered, in order. */
    begun: () => asked.map(({ host }) => host),
    async ask(host: string) {
      const answer = lookup(host).then(
        ([found]) => (found?.address === newAddress ? 'found new' : 'found'),
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
  it('do not keep a quick name from being asked for, however many they are', async () => {
    const t = rig({ freshMax: 2 });
    await t.makeKnown('known.example');
    for (let i = 0; i < 10; i++) await t.ask(`never-${i}.example`);
    expect(t.begun()).toEqual(['never-0.example', 'never-1.example']);
    await t.ask('known.example');
    expect(t.begun()).toContain('known.example');
  });

  it('keep neither a provider nor a new name from being asked for when they were quick once', async () => {
    const t = rig({ knownMax: 2 });
    for (let i = 0; i < 5; i++) await t.makeKnown(`was-quick-${i}.example`);
    for (let i = 0; i < 5; i++) await t.ask(`was-quick-${i}.example`);
    expect(t.begun()).toEqual(['was-quick-0.example', 'was-quick-1.example']);
    await t.ask('push.provider.example');
    await t.ask('new.example');
    expect(t.begun().slice(2)).toEqual(['push.provider.example', 'new.example']);
  });

  it('have their own places from the second time on, so that a new name does not wait for them', async () => {
    const t = rig();
    for (const host of ['a.example', 'b.example', 'c.example']) await t.makeSlow(host, 10_000);
    for (const host of ['a.example', 'b.example', 'c.example']) await t.ask(host);
    expect(t.begun()).toEqual(['a.example']);
    await t.ask('new.example');
    expect(t.begun()).toEqual(['a.example', 'new.example']);
  });

  it('come after a name that was less slow', async () => {
    const t = rig();
    for (const host of ['a.example', 'b.example']) await t.makeSlow(host, 10_000);
    await t.makeSlow('slowish.example', 1_500);
    for (const host of ['a.example', 'b.example', 'slowish.example']) await t.ask(host);
    await t.end('a.example', 'fail');
    expect(t.begun()).toEqual(['slowish.example']);
  });

  it('make no other name wait for the whole time of a request: a look-up that was not begun says so', async () => {
    const t = rig();
    const hanging = await t.ask('never.example');
    const waiting = await t.ask('waiting.example');
    await t.pass(2_000);
    expect(await waiting.answer).toBe('LookupNotBegunError');
    await t.ask('late.example');
    await t.end('never.example', 'fail');
    expect(await hanging.answer).toBe('Error');
    // The place went to the waiting name, and then is free again.
    expect(t.begun()).toEqual(['late.example']);
    await t.end('late.example');
    await t.ask('next.example');
    expect(t.begun()).toEqual(['next.example']);
  });

  it('count as quick again once they were, and names that fail, however quickly, do not come before new ones', async () => {
    const t = rig();
    await t.makeSlow('was-slow.example', 2_000);
    await t.makeKnown('was-slow.example');
    for (const host of ['failing.example', 'failed.example']) {
      await t.ask(host);
      await t.end(host, 'fail');
    }
    for (const host of ['failing.example', 'failed.example', 'new.example', 'was-slow.example']) await t.ask(host);
    expect(t.begun()).toEqual(['failing.example', 'new.example', 'was-slow.example']);
  });

  it('under the domain of a provider keep neither the provider nor a new name from being asked for', async () => {
    const t = rig({ ofProvidersMax: 2 });
    for (let i = 0; i < 1_000; i++) await t.ask(`invented-${i}.provider.example`);
    expect(t.begun()).toEqual(['invented-0.provider.example', 'invented-1.provider.example']);
    for (const host of ['push.provider.example', 'new.example']) await t.ask(host);
    expect(t.begun().slice(2)).toEqual(['push.provider.example', 'new.example']);
  });

  it("leave a host of a provider's domain among the known ones when it was answered once", async () => {
    const t = rig();
    await t.makeKnown('region.provider.example');
    for (let i = 0; i < 10; i++) await t.ask(`invented-${i}.provider.example`);
    await t.ask('region.provider.example');
    expect(t.begun()).toEqual(['invented-0.provider.example', 'region.provider.example']);
  });
});

describe('the last good answer of a name', () => {
  it('serves for ten minutes where the system fails or is too busy to ask', async () => {
    const t = rig();
    await t.makeKnown('known.example');
    const failed = await t.ask('known.example');
    await t.end('known.example', 'fail');
    expect(await failed.answer).toBe('found');
    // Now it waits for a place while another lookup hangs.
    await t.makeSlow('slow.example', 3_000);
    await t.ask('slow.example');
    const waiting = await t.ask('known.example');
    expect(t.begun()).toEqual(['slow.example']);
    await t.pass(1_800);
    expect(await waiting.answer).toBe('found');
    await t.pass(600_000);
    const late = await t.ask('known.example');
    await t.pass(2_000);
    expect(await late.answer).toBe('LookupNotBegunError');
  });

  it.each(['push.provider.example', 'region.provider.example'])(
    'of a push service serves for a day, because its connections live long: %s',
    async (host) => {
      const t = rig();
      await t.makeKnown(host);
      await t.pass(86_000_000);
      const failed = await t.ask(host);
      await t.end(host, 'fail');
      expect(await failed.answer).toBe('found');
      await t.pass(500_000);
      const late = await t.ask(host);
      await t.end(host, 'fail');
      expect(await late.answer).toBe('Error');
    },
  );

  it('is replaced by a new one, however late that comes', async () => {
    const t = rig();
    await t.makeKnown('moving.example');
    t.move();
    const hanging = await t.ask('moving.example');
    await t.pass(1_799);
    expect(await Promise.race([hanging.answer, 'nothing yet'])).toBe('nothing yet');
    await t.pass(1);
    expect(await hanging.answer).toBe('found');
    await t.end('moving.example');
    const next = await t.ask('moving.example');
    await t.end('moving.example', 'fail');
    expect(await next.answer).toBe('found new');
  });

  it('is kept however many other names fail meanwhile', async () => {
    const t = rig({ freshMax: 20_000 });
    await t.makeKnown('known.example');
    for (let i = 0; i < 10_001; i++) {
      void t.ask(`invented-${i}.example`);
    }
    await t.pass(0);
    for (const host of t.begun()) void t.end(host, 'fail');
    await t.pass(0);
    const failed = await t.ask('known.example');
    await t.end('known.example', 'fail');
    expect(await failed.answer).toBe('found');
  });
});

describe('a name that many ask for at once', () => {
  it('is asked for once, and again by the first caller after the answer', async () => {
    const t = rig();
    const all = [await t.ask('a.example'), await t.ask('a.example'), await t.ask('a.example')];
    expect(t.begun()).toEqual(['a.example']);
    await t.end('a.example');
    expect(await Promise.all(all.map(({ answer }) => answer))).toEqual(['found', 'found', 'found']);
    await t.ask('a.example');
    expect(t.begun()).toEqual(['a.example']);
  });
});
