// A scripted month of an app: what was sent, clicked and bought, with every sum computed by hand.
// All tests that must produce the same sums use it.

import { decodeId } from '../../src/ground/values/ids.ts';
import { ensureDeliveryPartitions } from '../../src/sending/delivery/partitions.ts';
import { receiptTokenOf } from '../receipt-tokens.ts';
import type { Bundle, Response } from '../setup.ts';

export interface Stage {
  readonly t: Bundle;
  /** Sets the clock to an instant, where it stands still. */
  at(instant: string): Promise<void>;
  send(audience: object): Promise<string>;
  click(message: string, device: string): Promise<void>;
  /** Registers a device of a user. */
  deviceOf(externalId: string): Promise<string>;
  login(externalId: string, device: string): Promise<void>;
  logout(device: string): Promise<void>;
  track(...events: object[]): Promise<void>;
  buy(who: object, amount: number, currency: string, occurredAt?: string): Promise<void>;
}

export function stage(t: Bundle): Stage {
  const ok = ({ status, body }: Response): Response['body'] => {
    if (status !== 200) throw new Error(`refused: ${JSON.stringify(body)}`);
    return body;
  };
  const login = async (externalId: string, device: string): Promise<void> => {
    ok(await t.server.post('/v1/users', { external_id: externalId, device_id: device }));
  };
  const track = async (...events: object[]): Promise<void> => {
    ok(await t.server.post('/v1/events', { events }));
  };
  return {
    t,
    login,
    async logout(device) {
      ok(await t.server.post('/v1/identify', { device_id: device, external_id: null }));
    },
    track,
    async at(instant) {
      const date = new Date(instant);
      t.clock.hold(date);
      await ensureDeliveryPartitions(t.sql, date.getTime());
    },
    async send(audience) {
      const { id, report } = ok(await t.server.post('/v1/messages', { audience, content: { title: 'Sale' } }));
      if (report.sent !== report.accepted || report.sent === 0) throw new Error(`not sent: ${JSON.stringify(report)}`);
      // The push took some milliseconds, which this stopped clock does not show.
      await t.sql`
        UPDATE deliveries SET done_at = ${t.clock.date()}
        WHERE batch_id IN (SELECT id FROM batches WHERE message_id = ${decodeId('msg', id) ?? ''})`;
      return id;
    },
    async click(message, device) {
      const token = await receiptTokenOf(t, message, device);
      ok(await t.request('POST', '/v1/receipts', { body: { token, event: 'clicked' } }));
    },
    async deviceOf(externalId) {
      const device = await t.registerDevice();
      await login(externalId, device);
      return device;
    },
    async buy(who, amount, currency, occurredAt) {
      const when = occurredAt === undefined ? {} : { occurred_at: occurredAt };
      await track({ name: 'purchase', ...who, ...when, properties: { amount, currency } });
    },
  };
}

export interface Ledger {
  readonly messages: Readonly<Record<'m1' | 'm2' | 'm3' | 'm4' | 'm5' | 'm6' | 'm7', string>>;
  /** Revenue in March, in Berlin's time. */
  readonly revenue: readonly object[];
  readonly byMessage: readonly object[];
  readonly events: object;
  /** Total revenue in EUR of each day in Berlin that had any. */
  readonly eurByDay: Readonly<Record<string, string>>;
}

/** March 2027 in Berlin, where the clocks go forward on the 28th. */
export const march = 'from=2027-02-28T23:00:00Z&to=2027-03-31T22:00:00Z';

/** Plays the month. At its end the clock stands on 1 April. */
export async function playMarch(s: Stage): Promise<Ledger> {
  await s.at('2027-02-20T00:00:00Z');
  const anna = await s.deviceOf('anna');
  const bert = await s.deviceOf('bert');
  const x = await s.t.registerDevice();
  const y = await s.deviceOf('dora');

  // Outside the month by a millisecond, at either end.
  await s.at('2027-02-28T22:59:59.999Z');
  await s.buy({ external_id: 'fred' }, 100, 'EUR');

  // The contract's worked example, with a second person who clicked nothing.
  await s.at('2027-03-02T10:00:00Z');
  const m1 = await s.send({ external_ids: ['anna', 'bert'] });
  await s.at('2027-03-02T10:05:00Z');
  await s.click(m1, anna);
  await s.at('2027-03-02T12:00:00Z');
  const m2 = await s.send({ external_ids: ['anna', 'bert'] });
  await s.at('2027-03-02T12:30:00Z');
  await s.buy({ external_id: 'anna' }, 79.9, 'eur');
  // Thirteen digits, and more decimals than any currency has.
  await s.buy({ external_id: 'bert' }, 999_999_999_999.123, 'JPY');
  await s.buy({ external_id: 'bert' }, 1_000_000_000_000, 'JPY');
  await s.buy({ external_id: 'bert' }, 1e-7, 'JPY');
  await s.at('2027-03-03T12:00:00.001Z');
  await s.buy({ external_id: 'anna' }, 20.1, 'EUR', '2027-03-03T11:05:00.000+01:00');
  await s.buy({ external_id: 'anna' }, 5, 'EUR', '2027-03-03T11:00:00Z');
  await s.buy({ external_id: 'anna' }, 9.99, 'USD');

  // A click after one purchase and before another.
  await s.at('2027-03-10T09:00:00Z');
  const m3 = await s.send({ external_ids: ['bert'] });
  await s.at('2027-03-10T09:30:00Z');
  await s.buy({ external_id: 'bert' }, 10.005, 'EUR');
  await s.track({ name: 'session_start', external_id: 'bert' });
  await s.at('2027-03-10T09:40:00Z');
  await s.click(m3, bert);
  await s.at('2027-03-10T09:50:00Z');
  await s.buy({ external_id: 'bert' }, 1.115, 'EUR');

  // Events of a device without a user count for its user once there is one.
  await s.at('2027-03-12T08:00:00Z');
  const m4 = await s.send({ device_ids: [x] });
  await s.at('2027-03-12T08:01:00Z');
  await s.click(m4, x);
  await s.at('2027-03-12T08:30:00Z');
  await s.buy({ device_id: x }, 3.33, 'USD');
  await s.track({ name: 'session_start', device_id: x }, { name: 'install', device_id: x });
  await s.at('2027-03-12T20:00:00Z');
  await s.login('cora', x);
  await s.at('2027-03-12T21:00:00Z');
  await s.buy({ external_id: 'cora' }, 4.44, 'USD');

  // A device changes hands: messages sent before stay with its former user.
  await s.at('2027-03-15T10:00:00Z');
  const m5 = await s.send({ external_ids: ['dora'] });
  await s.at('2027-03-15T11:00:00Z');
  await s.login('emil', y);
  await s.at('2027-03-15T12:30:00Z');
  await s.buy({ external_id: 'emil' }, 7.77, 'USD');
  await s.buy({ device_id: y }, 0.5, 'USD');
  await s.buy({ external_id: 'dora' }, 6.66, 'USD');

  // A device changes hands and is then without a user. Messages sent to it count for purchases on
  // it by any user, and for the users it had.
  await s.at('2027-03-18T10:00:00Z');
  const z = await s.deviceOf('gina');
  const m6 = await s.send({ external_ids: ['gina'] });
  await s.at('2027-03-18T10:05:00Z');
  await s.click(m6, z);
  await s.at('2027-03-18T11:00:00Z');
  await s.login('hugo', z);
  await s.at('2027-03-18T11:30:00Z');
  const m7 = await s.send({ external_ids: ['hugo'] });
  await s.at('2027-03-18T12:00:00Z');
  await s.logout(z);
  await s.at('2027-03-18T12:30:00Z');
  // The click of m6 counts more than the newer m7.
  await s.buy({ device_id: z }, 11.11, 'CHF');
  await s.buy({ external_id: 'hugo' }, 1.01, 'CHF');
  await s.buy({ external_id: 'gina' }, 2.22, 'CHF');
  // 24 hours and 25 minutes after the click, and 23 hours after m7 was sent; then a millisecond
  // after m7's window.
  await s.at('2027-03-19T11:30:00.001Z');
  await s.buy({ device_id: z }, 5.05, 'CHF', '2027-03-19T10:30:00Z');
  await s.buy({ device_id: z }, 0.3, 'CHF');

  // A day of 23 hours, to the millisecond at both ends; tracked late and in any order.
  await s.at('2027-03-29T00:00:00Z');
  await s.buy({ external_id: 'fred' }, 8, 'EUR', '2027-03-28T22:00:00.000Z');
  await s.buy({ external_id: 'fred' }, 4, 'EUR', '2027-03-28T21:59:59.999Z');
  await s.buy({ external_id: 'fred' }, 2, 'EUR', '2027-03-27T23:00:00.000Z');
  await s.buy({ external_id: 'fred' }, 1, 'EUR', '2027-03-27T22:59:59.999Z');
  await s.track({ name: 'install' }, { name: 'page_view', external_id: 'fred' });

  await s.at('2027-04-01T12:00:00Z');
  await s.buy({ external_id: 'fred' }, 100, 'EUR', '2027-03-31T22:00:00.000Z');

  const none = { amount: '0', purchases: 0 };
  return {
    messages: { m1, m2, m3, m4, m5, m6, m7 },
    revenue: [
      {
        currency: 'CHF',
        total: '19.69',
        purchases: 5,
        direct: { amount: '13.33', purchases: 2 },
        influenced: { amount: '6.06', purchases: 2 },
        unattributed: { amount: '0.3', purchases: 1 },
        open: none,
      },
      {
        currency: 'EUR',
        total: '131.12',
        purchases: 9,
        direct: { amount: '101.115', purchases: 3 },
        influenced: { amount: '15.005', purchases: 2 },
        unattributed: { amount: '15', purchases: 4 },
        open: none,
      },
      {
        currency: 'JPY',
        total: '1999999999999.1230001',
        purchases: 3,
        direct: none,
        influenced: { amount: '1999999999999.1230001', purchases: 3 },
        unattributed: none,
        open: none,
      },
      {
        currency: 'USD',
        total: '32.69',
        purchases: 6,
        direct: { amount: '7.77', purchases: 2 },
        influenced: { amount: '6.66', purchases: 1 },
        unattributed: { amount: '18.26', purchases: 3 },
        open: none,
      },
    ],
    byMessage: [
      { message_id: m1, currency: 'EUR', direct: { amount: '100', purchases: 2 }, influenced: none },
      { message_id: m6, currency: 'CHF', direct: { amount: '13.33', purchases: 2 }, influenced: none },
      { message_id: m4, currency: 'USD', direct: { amount: '7.77', purchases: 2 }, influenced: none },
      {
        message_id: m3,
        currency: 'EUR',
        direct: { amount: '1.115', purchases: 1 },
        influenced: { amount: '10.005', purchases: 1 },
      },
      { message_id: m2, currency: 'EUR', direct: none, influenced: { amount: '5', purchases: 1 } },
      { message_id: m2, currency: 'JPY', direct: none, influenced: { amount: '1999999999999.1230001', purchases: 3 } },
      { message_id: m5, currency: 'USD', direct: none, influenced: { amount: '6.66', purchases: 1 } },
      { message_id: m7, currency: 'CHF', direct: none, influenced: { amount: '6.06', purchases: 2 } },
    ],
    events: {
      install: { count: 2, direct: 1, influenced: 0, unattributed: 1 },
      session_start: { count: 2, direct: 1, influenced: 1, unattributed: 0 },
    },
    eurByDay: {
      '2027-03-01T23:00:00.000Z': '79.9',
      '2027-03-02T23:00:00.000Z': '25.1',
      '2027-03-09T23:00:00.000Z': '11.12',
      '2027-03-26T23:00:00.000Z': '1',
      '2027-03-27T23:00:00.000Z': '6',
      '2027-03-28T22:00:00.000Z': '8',
    },
  };
}
