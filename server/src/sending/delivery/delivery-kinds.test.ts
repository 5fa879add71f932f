import { describe, expect, it } from 'vitest';
import { channelIds } from '../channels/channel.ts';
import { errorCodes } from '../channels/error-code.ts';
import { skipReasons } from './delivery.ts';
import { type KindFilter, kindsOf, kindsWanted, type MessageOutcomes, mayHold } from './delivery-kinds.ts';

const anything: KindFilter = { status: null, channel: null, code: null };

const everyKind = channelIds.flatMap((channel) => [
  { channel, final: 'sent' as const, code: null },
  ...errorCodes.map((code) => ({ channel, final: 'failed' as const, code })),
  ...skipReasons.map((code) => ({ channel, final: 'skipped' as const, code })),
]);

describe('the bits of a batch', () => {
  it('tell every two kinds apart, and fit a bigint', () => {
    const bits = everyKind.map((kind) => kindsOf([kind]));
    expect(new Set(bits).size).toBe(everyKind.length);
    for (const bit of bits) expect(BigInt(bit) & (BigInt(bit) - 1n)).toBe(0n);
    expect(BigInt(kindsWanted(anything)) < 2n ** 63n).toBe(true);
    expect(kindsOf(everyKind)).toBe(kindsWanted(anything));
  });

  it('are met by a filter exactly where it lets a delivery through', () => {
    const statuses = [null, 'sent', 'failed', 'skipped'] as const;
    const codes = [null, ...new Set<string>([...errorCodes, ...skipReasons])];
    for (const status of statuses) {
      for (const channel of [null, ...channelIds]) {
        for (const code of codes) {
          const wanted = BigInt(kindsWanted({ status, channel, code }));
          for (const kind of everyKind) {
            const isThrough =
              (status ?? kind.final) === kind.final &&
              (channel ?? kind.channel) === kind.channel &&
              (code ?? kind.code) === kind.code;
            expect((BigInt(kindsOf([kind])) & wanted) !== 0n).toBe(isThrough);
          }
        }
      }
    }
  });

  it('say nothing of deliveries that wait for a retry', () => {
    expect(kindsOf([{ channel: 'apns', final: null, code: 'timeout' }])).toBe('0');
  });
});

describe('the numbers of a message', () => {
  const none = { accepted: 0, sent: 0, failed: 0, skipped: 0 };
  const message: MessageOutcomes = {
    channels: {
      webpush: { accepted: 10, sent: 7, failed: 2, skipped: 1 },
      apns: { accepted: 5, sent: 5, failed: 0, skipped: 0 },
      fcm: none,
    },
    errorCounts: { unregistered: 2, device_inactive: 1 },
  };

  it.each<[Partial<KindFilter>, boolean]>([
    [{}, true],
    [{ status: 'sent' }, true],
    [{ status: 'retrying' }, false],
    [{ channel: 'fcm' }, false],
    [{ channel: 'apns', status: 'failed' }, false],
    [{ channel: 'apns', status: 'sent' }, true],
    [{ code: 'unregistered' }, true],
    [{ code: 'expired' }, false],
    [{ code: 'unregistered', channel: 'apns' }, false],
    [{ code: 'unregistered', status: 'skipped' }, false],
    [{ code: 'unregistered', status: 'sent' }, false],
    [{ code: 'device_inactive', status: 'skipped', channel: 'webpush' }, true],
  ])('say whether it may hold %o: %s', (filter, isHeld) => {
    expect(mayHold({ ...anything, ...filter }, message)).toBe(isHeld);
  });

  it('leave open what waits for a retry while deliveries are pending, and nothing else', () => {
    const pending = { ...message, channels: { ...message.channels, fcm: { ...none, accepted: 1 } } };
    const mayBe = (filter: Partial<KindFilter>) => mayHold({ ...anything, ...filter }, pending);
    expect([mayBe({ status: 'retrying' }), mayBe({ code: 'timeout' }), mayBe({ channel: 'fcm' })]).toEqual([
      true,
      true,
      true,
    ]);
    expect([mayBe({ code: 'timeout', status: 'failed' }), mayBe({ code: 'timeout', channel: 'apns' })]).toEqual([
      false,
      false,
    ]);
  });
});
