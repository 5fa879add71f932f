// Devices change users and back while people buy. Each purchase is compared with the words of the
// contract, which this file implements in the plainest way.
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../rig/src/random.ts';
import { loadTimeZones } from '../../src/ground/database/load-time-zones.ts';
import { noExceptions } from '../../src/ground/outbound/address-guard.ts';
import { decodeId, encodeId } from '../../src/ground/values/ids.ts';
import { rebuildEventTotals } from '../../src/insight/events/rebuild-event-totals.ts';
import { rebuildAttribution } from '../../src/insight/reports/rebuild.ts';
import { settleDue } from '../../src/insight/reports/settle.ts';
import { CellTypes } from '../../src/people/imports/cells.ts';
import { detectFormat } from '../../src/people/imports/detect.ts';
import { importFile } from '../../src/people/imports/import-file.ts';
import { createJudge } from '../../src/people/imports/judge.ts';
import { RejectFile } from '../../src/people/imports/reject-file.ts';
import { type Bundle, setup } from '../setup.ts';
import { stage } from './ledger.ts';

const hourMs = 3_600_000;
const windowMs = 24 * hourMs;

interface Device {
  readonly id: string;
  readonly token: { readonly endpoint: string };
}

async function addDevice(t: Bundle): Promise<Device> {
  const token = t.pushSubscription();
  return { id: await t.registerDevice({ token: JSON.stringify(token) }), token };
}

/** Imports a file that names the user of a device. */
async function importLink(t: Bundle, { token }: Device, externalId: string): Promise<void> {
  const bytes = Buffer.from(JSON.stringify({ platform: 'web', token, external_id: externalId }));
  const types = new CellTypes(new Map());
  const format = detectFormat(bytes);
  const { hostname } = new URL(token.endpoint);
  const judge = createJudge({
    endpointRules: { pushHosts: [hostname], exceptions: noExceptions, ownHosts: [] },
    timeZones: await loadTimeZones(t.sql),
    credentials: { ios: null, android: null, web: new Map(), webOtherwise: 1 },
    types,
  });
  const { rejected } = await importFile(
    { sql: t.sql, clock: t.clock },
    {
      appId: t.app.id,
      fingerprint: null,
      format,
      judge,
      types,
      onProgress: () => undefined,
      bytes: (async function* () {
        yield bytes;
      })(),
      rejects: new RejectFile('/nowhere/at/all', format),
    },
  );
  expect(rejected).toBe(0);
}

/** The device opts out and then in again. */
async function optOutAndIn(t: Bundle, { id, token }: Device): Promise<void> {
  expect((await t.server.delete(`/v1/devices/${id}`)).status).toBe(200);
  expect(await t.registerDevice({ token: JSON.stringify(token) })).toBe(id);
}

interface Sent {
  readonly message: string;
  readonly device: string;
  /** The device's user at that time. */
  readonly user: string | null;
  readonly atMs: number;
  clickedMs: number | null;
}

interface Bought {
  readonly atMs: number;
  /** The user and the device stored with the purchase. */
  readonly user: string | null;
  readonly device: string | null;
}

interface World {
  readonly owners: ReadonlyMap<string, string | null>;
  readonly sent: readonly Sent[];
}

/** Contract 11, word for word. */
function classOf({ atMs, user, device }: Bought, { owners, sent }: World): string {
  const ownerOf = (id: string | null): string | null => (id === null ? null : (owners.get(id) ?? null));
  const subject = user ?? ownerOf(device);
  const own = sent.filter((one) =>
    subject === null ? one.device === device : (one.user ?? ownerOf(one.device)) === subject,
  );
  const latest = (found: { message: string; ms: number }[]): string | undefined =>
    found.sort((one, other) => other.ms - one.ms || (other.message < one.message ? -1 : 1))[0]?.message;
  const isInside = (ms: number): boolean => atMs - ms >= 0 && atMs - ms <= windowMs;
  const clicks = own.flatMap(({ message, clickedMs }) => (clickedMs === null ? [] : [{ message, ms: clickedMs }]));
  const click = latest(clicks.filter(({ ms }) => isInside(ms)));
  if (click !== undefined) return `direct ${click}`;
  const open = own.filter(({ clickedMs }) => clickedMs === null || clickedMs > atMs);
  const send = latest(open.map(({ message, atMs: ms }) => ({ message, ms })).filter(({ ms }) => isInside(ms)));
  return send === undefined ? 'unattributed' : `influenced ${send}`;
}

async function settledClasses(t: Bundle): Promise<string[]> {
  const rows = await t.sql<{ class: string; messageId: string | null }[]>`
    SELECT class, message_id FROM attributions WHERE app_id = ${t.app.id} ORDER BY at`;
  return rows.map((row) => (row.messageId === null ? row.class : `${row.class} ${row.messageId}`));
}

/** How many purchases the current report attributes to each message, by class. */
async function reported(t: Bundle): Promise<Record<string, number>> {
  const { body } = await t.server.get(
    '/v1/reports/revenue?from=2027-03-01T00:00:00Z&to=2027-05-01T00:00:00Z&limit=100',
  );
  const [row] = body.revenue;
  const counts: Record<string, number> = { unattributed: row.unattributed.purchases };
  for (const { message_id, direct, influenced } of body.messages) {
    const id = decodeId('msg', message_id);
    counts[`direct ${id}`] = direct.purchases;
    counts[`influenced ${id}`] = influenced.purchases;
  }
  return counts;
}

function counted(classes: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = { unattributed: 0 };
  for (const one of classes) {
    const [kind = '', id] = one.split(' ');
    if (id === undefined) counts[kind] = (counts[kind] ?? 0) + 1;
    else
      for (const each of ['direct', 'influenced'])
        counts[`${each} ${id}`] = (counts[`${each} ${id}`] ?? 0) + Number(each === kind);
  }
  return counts;
}

describe('purchases while devices change users', () => {
  it.each([1, 2, 3])('have the class of the contract, when read, settled and rebuilt, seed %i', async (seed) => {
    const t = await setup({ workers: false });
    const s = stage(t);
    const random = createRandom(seed);
    let ms = Date.parse('2027-03-01T08:00:00Z');
    await s.at(new Date(ms).toISOString());
    const devices = [await addDevice(t), await addDevice(t), await addDevice(t), await addDevice(t)];
    const owners = new Map<string, string | null>();
    const sent: Sent[] = [];
    const bought: Bought[] = [];
    const user = (): string => random.pick(['ada', 'bob', 'cleo']);
    const steps: Record<string, (device: Device) => Promise<void>> = {
      async login(device) {
        const externalId = user();
        await s.login(externalId, device.id);
        owners.set(device.id, externalId);
      },
      async identify({ id }) {
        const externalId = user();
        const { status } = await t.server.post('/v1/identify', { device_id: id, external_id: externalId });
        expect(status).toBe(200);
        owners.set(id, externalId);
      },
      async import(device) {
        const externalId = user();
        await importLink(t, device, externalId);
        owners.set(device.id, externalId);
      },
      async logout({ id }) {
        await s.logout(id);
        owners.set(id, null);
      },
      async optOut(device) {
        await optOutAndIn(t, device);
        owners.set(device.id, null);
      },
      async send({ id }) {
        const ids = [...new Set([id, random.pick(devices).id])];
        const message = decodeId('msg', await s.send({ device_ids: ids })) ?? '';
        for (const device of ids) {
          sent.push({ message, device, user: owners.get(device) ?? null, atMs: ms, clickedMs: null });
        }
      },
      async click() {
        const open = sent.filter(({ clickedMs }) => clickedMs === null);
        if (open.length === 0) return;
        const one = random.pick(open);
        await s.click(encodeId('msg', one.message), one.device);
        one.clickedMs = ms;
      },
      async buyOnDevice({ id }) {
        await s.buy({ device_id: id }, 1, 'EUR');
        bought.push({ atMs: ms, user: owners.get(id) ?? null, device: id });
      },
      async buy() {
        const externalId = user();
        await s.buy({ external_id: externalId }, 1, 'EUR');
        bought.push({ atMs: ms, user: externalId, device: null });
      },
    };
    const usual = [
      'login',
      'logout',
      'send',
      'send',
      'click',
      'click',
      'buyOnDevice',
      'buyOnDevice',
      'buyOnDevice',
      'buy',
    ];
    const names = [...usual, 'identify', 'import', 'optOut'];
    for (let step = 0; step < 120; step++) {
      ms += 60_000 * (1 + random.below(150));
      await s.at(new Date(ms).toISOString());
      await steps[random.pick(names)]?.(random.pick(devices));
    }

    const classes = bought.map((one) => classOf(one, { owners, sent }));
    expect(new Set(classes.map((one) => one.split(' ')[0]))).toEqual(new Set(['direct', 'influenced', 'unattributed']));
    expect(await reported(t)).toEqual(counted(classes));
    await s.at(new Date(ms + windowMs + hourMs).toISOString());
    await settleDue({ sql: t.sql, clock: t.clock });
    expect(await settledClasses(t)).toEqual(classes);
    expect(await reported(t)).toEqual(counted(classes));
    await rebuildEventTotals(t.sql, { appId: t.app.id, from: null, to: null });
    await rebuildAttribution({ sql: t.sql, clock: t.clock }, { appId: t.app.id, fromMs: null, toMs: null });
    expect(await settledClasses(t)).toEqual(classes);
    expect(await reported(t)).toEqual(counted(classes));
  });
});

describe('the former users of a device', () => {
  it.each<[string, (t: Bundle, device: Device) => Promise<unknown>]>([
    ['it logs out', (t, device) => stage(t).logout(device.id)],
    ['it opts out', optOutAndIn],
    ['another logs in', (t, device) => stage(t).login('hugo', device.id)],
    ['a file gives it to another', (t, device) => importLink(t, device, 'hugo')],
  ])('are known when %s: purchases on it without a user are attributed to messages sent to it', async (_how, part) => {
    const t = await setup({ workers: false });
    const s = stage(t);
    await s.at('2027-03-01T08:00:00Z');
    const device = await addDevice(t);
    await s.login('ada', device.id);
    await s.send({ device_ids: [device.id] });
    await part(t, device);
    await s.logout(device.id);
    await s.at('2027-03-01T09:00:00Z');
    await s.buy({ device_id: device.id }, 1, 'EUR');
    expect(Object.values(await reported(t))).toEqual([0, 0, 1]);
  });

  it('are forgotten when erased: messages sent to an erased person count for nobody afterwards', async () => {
    const t = await setup({ workers: false });
    const s = stage(t);
    await s.at('2027-03-01T08:00:00Z');
    const device = await addDevice(t);
    await s.login('ada', device.id);
    await s.send({ device_ids: [device.id] });
    await s.logout(device.id);
    await s.at('2027-03-01T09:00:00Z');
    await s.buy({ device_id: device.id }, 1, 'EUR');
    expect(Object.values(await reported(t))).toEqual([0, 0, 1]);
    await s.login('ada', device.id);
    expect((await t.server.delete('/v1/users/ada')).status).toBe(200);
    expect(await t.sql`SELECT FROM former_links`).toHaveLength(0);
    await t.registerDevice({ token: JSON.stringify(device.token) });
    await s.at('2027-03-01T10:00:00Z');
    await s.buy({ device_id: device.id }, 1, 'EUR');
    const [row] = (await t.server.get('/v1/reports/revenue?from=2027-03-01T10:00:00Z&to=2027-03-02T00:00:00Z')).body
      .revenue;
    expect(row).toMatchObject({ purchases: 1, unattributed: { purchases: 1 } });
  });

  it('are kept as long as deliveries of that time', async () => {
    const t = await setup({ workers: false });
    const s = stage(t);
    await s.at('2027-03-01T08:00:00Z');
    const device = await addDevice(t);
    await s.login('ada', device.id);
    await s.send({ device_ids: [device.id] });
    await s.logout(device.id);
    const kept: [number, number][] = [];
    for (const days of [80, 120]) {
      await s.at(new Date(Date.parse('2027-03-01T08:00:00Z') + days * 24 * hourMs).toISOString());
      await t.startWorkers().upkeep.runOnce();
      kept.push([(await t.sql`SELECT FROM deliveries`).length, (await t.sql`SELECT FROM former_links`).length]);
    }
    expect(kept).toEqual([
      [1, 1],
      [0, 0],
    ]);
  });
});
