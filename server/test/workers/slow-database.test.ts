// a database that is slow, full or away for a while makes no delivery fail and no push
// repeat. When it refuses any statement of a batch, the batch is handed back or the statement
// repeated. Neither counts towards the limit of R-18.

import type { Sql } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { Statement } from '../../../packages/postgres/src/statement.ts';
import { createGate } from '../../../packages/postgres/test/gate.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { mintUuid, nilUuid } from '../../src/ground/values/ids.ts';
import { type ClaimedBatch, claimsMax } from '../../src/sending/delivery/batch.ts';
import { createClaims } from '../../src/sending/delivery/claims.ts';
import { createCompiledMessages } from '../../src/sending/delivery/compiled-messages.ts';
import { createMessageWatches } from '../../src/sending/delivery/message-watch.ts';
import { claimNextBatch, type TakeOver } from '../../src/sending/delivery/queries.ts';
import { type RunDeps, runBatch } from '../../src/sending/delivery/run-batch.ts';
import { createCredentials } from '../../src/teams/apps/credentials.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { accept, type Script } from '../push-service.ts';
import { type Bundle, setup } from '../setup.ts';

const content = { title: 'Slow is not poison' };
/** More than the accepting process works itself. */
const devices = 60;
/** A batch waits at most this long after a setback. */
const longestWaitMs = 60_000;

const setUp = () => setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });

async function send(t: Bundle): Promise<string> {
  await t.registerMany(devices);
  return (await t.server.post('/v1/messages', { audience: { all: true }, content })).body.id;
}

async function claim(t: Bundle, takeOver: TakeOver = 'all'): Promise<ClaimedBatch | undefined> {
  return claimNextBatch(t.sql, t.clock, nilUuid, mintUuid(t.clock.nowMs()), [], takeOver);
}

/** One claim of the due batch, worked with `run`. */
async function turn(t: Bundle, run: RunDeps = t.service.run, isStopping = false) {
  const batch = await claim(t);
  if (!batch) throw new Error('nothing to claim');
  return runBatch(run, batch, t.clock.steadyMs(), () => isStopping);
}

const stateOf = async (t: Bundle) =>
  (await t.sql`SELECT state, claims, pushed, setbacks, faults FROM batches`).map((row) => ({ ...row }))[0];

async function expectEachSentOnce(t: Bundle, id: string): Promise<void> {
  expect((await t.server.get(`/v1/messages/${id}`)).body).toMatchObject({
    status: 'sent',
    report: { accepted: devices, sent: devices, failed: 0, skipped: 0 },
    error_counts: {},
  });
  expect(t.push.requests).toHaveLength(devices);
  expect(new Set(t.push.requests.map(({ token }) => token)).size).toBe(devices);
}

const refusal = (code: string): Error => Object.assign(new Error(`refused: ${code}`), { code });

interface Refusing {
  readonly sql: Sql;
  /** Statements and transactions that were requested so far. */
  readonly asked: number;
}

/**
 * The service's pool, of which some statements are refused before they reach the database: those
 * for which `codeFor` names a code, by their number or their text. A transaction counts as one, and
 * has no text.
 */
function refusing(sql: Sql, codeFor: (asked: number, text: string) => string | undefined): Refusing {
  let asked = 0;
  const refuse = (text = ''): Error | undefined => {
    const code = codeFor(++asked, text);
    return code === undefined ? undefined : refusal(code);
  };
  const proxied = new Proxy(sql, {
    apply(target, self, given) {
      const made = Reflect.apply(target, self, given);
      if (!(made instanceof Statement)) return made;
      // A fragment is never awaited; a statement is awaited once.
      const { then } = made;
      let error: Error | undefined;
      let isAsked = false;
      const value = (...hearers: Parameters<typeof then>) => {
        if (!isAsked) error = refuse(String(given[0]));
        isAsked = true;
        return error ? Promise.reject(error).then(...hearers) : then.apply(made, hearers);
      };
      return Object.defineProperty(made, 'then', { value });
    },
    get(target, name) {
      if (name !== 'begin') return Reflect.get(target, name);
      return (work: (tx: never) => Promise<unknown>) => {
        const error = refuse();
        return error ? Promise.reject(error) : target.begin(work as never);
      };
    },
  });
  return {
    sql: proxied,
    get asked() {
      return asked;
    },
  };
}

/** Dependencies with which all of a batch's statements go through `sql`. */
function runWith(t: Bundle, sql: Sql): RunDeps {
  const { run } = t.service;
  const { ledger, log } = run;
  return {
    ...run,
    sql,
    credentials: createCredentials({ sql, seal: createSeal(t.masterKey) }),
    compiled: createCompiledMessages({ sql, ledger, clock: run.clock }),
    watches: createMessageWatches({ sql, ledger, log }),
  };
}

describe('R-96 a batch whose reads the database does not answer in time', () => {
  it('ten times in a row is handed back each time, and sent once when the database answers', async () => {
    const t = await setUp();
    const id = await send(t);
    const [taken, way] = [createGate(), createGate()];
    const locking = t.sql.begin(async (tx) => {
      await tx`LOCK TABLE audience IN ACCESS EXCLUSIVE MODE`;
      taken.open();
      await way.opened;
    });
    await taken.opened;
    for (let time = 1; time <= 10; time++) {
      const running = turn(t);
      // Cancels the statement, like a statement timeout.
      for (const pid of await untilLockWaits(t.sql, 1, { name: 'carillon send' }))
        await t.sql`SELECT pg_cancel_backend(${pid})`;
      expect(await running).toMatchObject({ kind: 'waiting' });
      expect(await stateOf(t)).toEqual({ state: 'waiting', claims: 0, pushed: false, setbacks: time, faults: 0 });
      expect(await claim(t)).toBeUndefined();
      t.clock.advance(longestWaitMs);
    }
    way.open();
    await locking;
    await t.service.startWorkers().idle();
    await expectEachSentOnce(t, id);
  });
});

describe('R-96 whichever statement of a batch is refused', () => {
  it.each(['57014', '55P03', '53300', '40P01', 'CONNECTION_CLOSED'])(
    'with %s, each delivery is sent once and no claim counts',
    async (code) => {
      const t = await setUp();
      const id = await send(t);
      let refused = 0;
      let end: Awaited<ReturnType<typeof turn>> = { kind: 'lost' };
      while (end.kind !== 'done') {
        const which = ++refused;
        const { sql } = refusing(t.service.run.sql, (asked) => (asked === which ? code : undefined));
        end = await turn(t, runWith(t, sql));
        if (end.kind === 'done') break;
        expect(await stateOf(t)).toEqual({ state: 'waiting', claims: 0, pushed: false, setbacks: refused, faults: 0 });
        t.clock.advance(longestWaitMs);
      }
      // Progress, message, content, credentials and devices were read. The sixth was the flush,
      // which is repeated.
      expect(refused).toBeGreaterThan(5);
      await expectEachSentOnce(t, id);
    },
  );

  it.each(['57014', '55P03', '53300', '40P01', 'CONNECTION_CLOSED'])(
    'with %s, a batch that is handed back at a stop is still handed back',
    async (code) => {
      const t = await setUp();
      const id = await send(t);
      let refused = 0;
      const { sql } = refusing(t.service.run.sql, (_asked, text) =>
        text.includes("UPDATE batches SET state = 'waiting'") && refused++ < 2 ? code : undefined,
      );
      expect(await turn(t, runWith(t, sql), true)).toMatchObject({ kind: 'waiting' });
      expect(refused).toBe(3);
      expect(await stateOf(t)).toEqual({ state: 'waiting', claims: 0, pushed: false, setbacks: 0, faults: 0 });
      await t.service.startWorkers().idle();
      await expectEachSentOnce(t, id);
    },
  );

  it('a failed look before the hand-back costs no delivery a retry: each has its five pushes', async () => {
    const t = await setUp();
    const comeBack: Script = (_request, response) => {
      response.writeHead(503, { 'retry-after': '1' });
      response.end();
    };
    t.push.scriptAll(comeBack);
    const id = await send(t);
    for (let push = 1; push <= 5; push++) {
      // The first look comes before the pushes, the second after them.
      const { watches } = t.service.run;
      let looks = 0;
      const watch: typeof watches.watch = (batch) => {
        const watched = watches.watch(batch);
        return { ...watched, look: () => (++looks === 2 ? Promise.reject(refusal('57014')) : watched.look()) };
      };
      const end = await turn(t, { ...t.service.run, watches: { ...watches, watch } });
      expect(end.kind).toBe(push < 5 ? 'waiting' : 'done');
      expect(looks).toBe(push < 5 ? 2 : 1);
      if (push < 5) expect(await stateOf(t)).toMatchObject({ state: 'waiting', claims: 0 });
      t.clock.advance(longestWaitMs);
    }
    expect(t.push.requests).toHaveLength(5 * devices);
    expect((await t.server.get(`/v1/messages/${id}`)).body).toMatchObject({
      status: 'failed',
      error_counts: { provider_unavailable: devices },
    });
  });
});

describe('R-18 a fault that is not caused by the database’s state', () => {
  const failWith = async (t: Bundle, code: string): Promise<void> => {
    const { sql } = refusing(t.service.run.sql, (asked) => (asked === 1 ? code : undefined));
    expect(await turn(t, runWith(t, sql))).toMatchObject({ kind: 'waiting' });
    t.clock.advance(longestWaitMs);
  };

  it('fails the batch when it occurs five times, even with a slow database in between', async () => {
    const t = await setUp();
    const id = await send(t);
    for (let time = 1; time <= claimsMax; time++) {
      await failWith(t, '42703');
      await failWith(t, '57014');
      expect(await stateOf(t)).toMatchObject({ state: 'waiting', claims: 0, faults: time });
    }
    expect(await turn(t)).toEqual({ kind: 'done' });
    expect((await t.server.get(`/v1/messages/${id}`)).body).toMatchObject({
      status: 'failed',
      error_counts: { unknown_error: devices },
    });
    expect(t.push.requests).toHaveLength(0);
  });

  it('does not fail it when each fault is a different one', async () => {
    const t = await setUp();
    const id = await send(t);
    for (let time = 1; time <= 2 * claimsMax; time++) await failWith(t, time % 2 === 0 ? '42703' : '22P02');
    await t.service.startWorkers().idle();
    await expectEachSentOnce(t, id);
  });
});

describe('R-96 a claim whose answer was lost', () => {
  it('is given back by the next one, at once and uncounted', async () => {
    const t = await setUp();
    await send(t);
    const claims = createClaims({ ...t.service.run, sql: t.sql });
    const unheard = claims.claim(async (claimId, takeOver) => {
      await claimNextBatch(t.sql, t.clock, nilUuid, claimId, [], takeOver);
      throw refusal('CONNECTION_CLOSED');
    });
    await expect(unheard).rejects.toThrow('CONNECTION_CLOSED');
    expect(await stateOf(t)).toMatchObject({ state: 'claimed', claims: 1 });
    const batch = await claims.claim((claimId, takeOver) =>
      claimNextBatch(t.sql, t.clock, nilUuid, claimId, [], takeOver),
    );
    expect(batch).toMatchObject({ claims: 1 });
  });

  it('is given back also when the server runs it only after the next one', async () => {
    const t = await setUp();
    await send(t);
    const claims = createClaims({ ...t.service.run, sql: t.sql });
    let late = async (): Promise<unknown> => undefined;
    const unheard = claims.claim(async (claimId, takeOver) => {
      late = () => claimNextBatch(t.sql, t.clock, nilUuid, claimId, [], takeOver);
      throw refusal('CONNECTION_UNANSWERED');
    });
    await expect(unheard).rejects.toThrow('CONNECTION_UNANSWERED');
    expect(await claims.claim(async () => undefined)).toBeUndefined();
    await late();
    expect(await stateOf(t)).toMatchObject({ state: 'claimed', claims: 1 });
    t.clock.advance(1000);
    expect(await claims.claim(async () => undefined)).toBeUndefined();
    expect(await stateOf(t)).toMatchObject({ state: 'waiting', claims: 0 });
  });
});

describe('R-97 a claim that the server runs when its process may be gone', () => {
  it('takes waiting batches and none with an expired lease', async () => {
    const t = await setUp();
    t.push.scriptAll((request, response, count) => accept(request, response, count));
    await send(t);
    const before = new Date(t.clock.nowMs() - 1);
    const first = await claim(t, { before });
    expect(first).toMatchObject({ claims: 1 });
    t.clock.advance(longestWaitMs);
    expect(await claim(t, { before })).toBeUndefined();
    expect(await claim(t, 'none')).toBeUndefined();
    expect(await claim(t, { before: new Date(t.clock.nowMs() + longestWaitMs) })).toMatchObject({ id: first?.id });
  });
});
