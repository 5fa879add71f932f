import { describe, expect, it } from 'vitest';
import type { DeliveryLine, EventLine, MessageLine, RunFacts } from './history-files.ts';
import {
  ConnectionUse,
  deathOfSender,
  judgePair,
  judgeRecovery,
  judgeTold,
  judgeTotals,
  type Pair,
  type Request,
} from './rules.ts';

const request = (fields: Partial<Request> = {}): Request => ({
  at: 10_000,
  answeredAt: 10_000,
  status: 201,
  identity: 'msg_1  msg_1',
  connectionId: 1,
  ...fields,
});
const delivery = (status: string): DeliveryLine => ['msg_1', 'dev_1', status, null, 10_040];
const pairOf = (requests: readonly Request[], status = 'sent', fields: Partial<Pair> = {}): Pair => ({
  name: 'it',
  requests,
  deliveries: [delivery(status)],
  told: [`message.${status}`],
  isGone: false,
  ...fields,
});
const nobodyDied = { windowMs: 500, msToDeath: () => undefined };
const diedAfter = (ms: number) => ({ windowMs: 500, msToDeath: () => ms });

describe('R-26 the events of a webhook', () => {
  it('are every final outcome once, and no skip', () => {
    expect(judgeTold(pairOf([request()]))).toEqual([]);
    expect(judgeTold(pairOf([request()], 'failed'))).toEqual([]);
    expect(judgeTold(pairOf([], 'skipped', { told: [] }))).toEqual([]);
    for (const told of [[], ['message.failed'], ['message.sent', 'message.sent']]) {
      expect(judgeTold(pairOf([request()], 'sent', { told }))).toHaveLength(1);
    }
    expect(judgeTold(pairOf([], 'skipped', { told: ['message.sent'] }))).toHaveLength(1);
  });
});

describe('a device of a message', () => {
  it('is fine after one push that is recorded as sent', () => {
    expect(judgePair(pairOf([request()]), nobodyDied)).toMatchObject({ isLost: false, duplicates: 0, violations: [] });
  });

  it('is lost without a request, without a delivery, and with a delivery that has not ended', () => {
    const lost = [pairOf([]), pairOf([request()], 'sent', { deliveries: [] }), pairOf([request()], 'retrying')];
    expect(lost.map((pair) => judgePair(pair, nobodyDied).isLost)).toEqual([true, true, true]);
  });

  it('needs no request when its provider has called it gone', () => {
    expect(judgePair(pairOf([], 'skipped', { isGone: true }), nobodyDied).violations).toEqual([]);
    expect(judgePair(pairOf([], 'sent', { isGone: true }), nobodyDied).isLost).toBe(true);
    expect(judgePair(pairOf([], 'skipped'), nobodyDied).isLost).toBe(true);
  });

  it.each([0, 408, 429, 500, 503])('may be pushed to again after %s', (status) => {
    const verdict = judgePair(pairOf([request({ status }), request()]), nobodyDied);
    expect(verdict).toMatchObject({ duplicates: 0, unexplained: 0, violations: [] });
  });

  it('may be pushed to twice only by a sender that died within the window', () => {
    const twice = pairOf([request(), request()]);
    expect(judgePair(twice, diedAfter(499))).toMatchObject({ duplicates: 1, unexplained: 0, windowMsMost: 499 });
    expect(judgePair(twice, diedAfter(500))).toMatchObject({ duplicates: 1, unexplained: 1, windowMsMost: 500 });
    expect(judgePair(twice, nobodyDied)).toMatchObject({ duplicates: 1, unexplained: 1 });
    const slow = pairOf([request({ answeredAt: 10_300 }), request()]);
    expect(judgePair(slow, diedAfter(799))).toMatchObject({ unexplained: 0, windowMsMost: 499 });
    expect(judgePair(slow, diedAfter(200))).toMatchObject({ unexplained: 0, windowMsMost: 0 });
    // A device that is gone is a final outcome like any other.
    expect(judgePair(pairOf([request({ status: 410 }), request()], 'failed'), nobodyDied).unexplained).toBe(1);
  });

  it('never has more than five pushes, all with the same identity', () => {
    const busy = (count: number) =>
      pairOf(
        Array.from({ length: count }, () => request({ status: 503 })),
        'failed',
      );
    expect(judgePair(busy(5), nobodyDied).violations).toEqual([]);
    expect(judgePair(busy(6), nobodyDied).violations).toHaveLength(1);
    const renamed = pairOf([request({ status: 503 }), request({ identity: 'msg_2  msg_1' })]);
    expect(judgePair(renamed, nobodyDied).violations).toHaveLength(1);
  });

  it('has the outcome that its provider gave', () => {
    expect(judgePair(pairOf([request({ status: 410 })]), nobodyDied).violations).toHaveLength(1);
    expect(judgePair(pairOf([request()], 'failed'), nobodyDied).violations).toHaveLength(1);
    expect(judgePair(pairOf([request({ status: 410 })], 'failed'), nobodyDied).violations).toEqual([]);
  });

  it('has exactly one delivery', () => {
    const two = pairOf([request()], 'sent', { deliveries: [delivery('sent'), delivery('sent')] });
    expect(judgePair(two, nobodyDied).violations).toHaveLength(1);
  });
});

describe('the death of a sender', () => {
  const kill: EventLine = { at: 10_400, node: 'worker-1', kind: 'kill', by: 'hand' };
  const neverUsed = () => false;

  it('counts when it is the first after the push, on a connection that is never used again', () => {
    const events = [{ ...kill, at: 12_000 }, kill, { ...kill, at: 8_000 }];
    expect(deathOfSender(events, neverUsed)(request())).toBe(400);
    expect(deathOfSender(events, () => true)(request())).toBeUndefined();
    expect(deathOfSender([], neverUsed)(request())).toBeUndefined();
  });

  it('also explains a push that arrived while it happened', () => {
    expect(deathOfSender([{ ...kill, at: 9_900 }], neverUsed)(request())).toBe(0);
    expect(deathOfSender([{ ...kill, at: 8_900 }], neverUsed)(request())).toBeUndefined();
  });

  it('is replaced by an outage of the database, during which the sender lives on', () => {
    const outage: EventLine = { ...kill, at: 10_200, kind: 'outage', until: 30_000 };
    const msToDeath = deathOfSender([outage], () => true);
    expect([10_000, 15_000, 30_001].map((at) => msToDeath(request({ at })))).toEqual([200, 0, undefined]);
  });

  it('is replaced by a stop, if the sender was silent meanwhile', () => {
    const held: EventLine = { ...kill, kind: 'stop', until: 36_000 };
    const usedAt = (at: number) => (_connection: number, fromMs: number, toMs: number) => at > fromMs && at < toMs;
    expect(deathOfSender([held], usedAt(36_500))(request())).toBe(400);
    expect(deathOfSender([held], usedAt(20_000))(request())).toBeUndefined();
  });

  it('counts a stop also when the sender was used in the moment in which it went on', () => {
    const held: EventLine = { ...kill, kind: 'stop', until: 36_010 };
    const used = new ConnectionUse();
    used.note(1, 36_012);
    const msToDeath = deathOfSender([held], (...span) => used.wasUsed(...span));
    expect(msToDeath(request())).toBe(400);
    used.note(1, 30_000);
    expect(msToDeath(request())).toBeUndefined();
  });
});

describe('totals', () => {
  const facts: RunFacts = {
    windowMs: 500,
    requested: 1,
    quotaUsed: 9,
    batchesClaimed: 0,
    batchesWaiting: 0,
    timedOut: 0,
  };
  const message: MessageLine = {
    id: 'msg_1',
    title: 'One',
    status: 'sent',
    report: { accepted: 10, sent: 8, failed: 1, skipped: 1 },
  };
  const rows = new Map([['msg_1', { sent: 8, failed: 1, skipped: 1 }]]);
  const asked = new Map([['One', 10]]);

  it('agree when the report, the rows and the quota agree', () => {
    expect(judgeTotals(facts, [message], rows, asked)).toEqual([]);
  });

  it.each<[string, Partial<RunFacts>, Partial<MessageLine>]>([
    ['a message that has not ended', {}, { status: 'sending' }],
    ['a report that does not add up', { quotaUsed: 10 }, { report: { accepted: 11, sent: 8, failed: 1, skipped: 1 } }],
    ['rows that are others', {}, { report: { accepted: 10, sent: 9, failed: 0, skipped: 1 } }],
    ['a message too few', { requested: 2 }, {}],
    ['a quota that is not what was sent', { quotaUsed: 10 }, {}],
    ['a batch that is held', { batchesClaimed: 1 }, {}],
    ['a batch that waits', { batchesWaiting: 1 }, {}],
    ['more devices than were asked for', {}, { title: 'Another' }],
  ])('do not agree with %s', (_what, changed, of) => {
    expect(judgeTotals({ ...facts, ...changed }, [{ ...message, ...of }], rows, asked)).not.toEqual([]);
  });
});

describe('recovery from a death', () => {
  const kill: EventLine = { at: 102_000, node: 'worker-1', kind: 'kill', by: 'hand' };
  const claim = { batch: 'b', leaseEndedAt: 120_000, takenAt: 121_000 };

  it('is counted from the death of the holder, which came within one renewal interval of its last renewal', () => {
    expect(judgeRecovery([kill], [claim])).toEqual({ maxMs: 19_000, violations: [] });
    expect(judgeRecovery([{ ...kill, at: 101_000 }, kill], [claim]).maxMs).toBe(20_000);
  });

  it('is counted from the end of an outage, whenever in it the lease ran out', () => {
    const outage: EventLine = { ...kill, at: 90_000, kind: 'outage', until: 130_000 };
    expect(judgeRecovery([outage], [{ ...claim, takenAt: 131_000 }])).toEqual({ maxMs: 1000, violations: [] });
    expect(judgeRecovery([{ ...outage, until: 98_000 }], [claim]).violations).toHaveLength(1);
  });

  it('is late after 30 s, and unexplained when no process died', () => {
    expect(judgeRecovery([kill], [{ ...claim, takenAt: 132_001 }]).violations).toHaveLength(1);
    expect(judgeRecovery([{ ...kill, at: 110_000 }], [claim]).violations).toHaveLength(1);
  });
});
