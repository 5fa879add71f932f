// A filter is saved, previewed and sent to at the sandbox: the devices that the preview counts must
// be the devices that get the push.
import { describe, expect, it } from 'vitest';
import { startSandbox } from '../channels/sandbox-process.ts';
import { setup } from '../setup.ts';

const sandbox = await startSandbox();
const t = await setup({ environment: { ...sandbox.environment } });

interface Log {
  readonly records: readonly { readonly token: string; readonly notification: { readonly title: string } | null }[];
}

async function newShop() {
  const app = await t.newApp({ channels: false });
  const server = t.clientOf(app.serverKey);
  const account = await sandbox.call<{ project_id: string; client_email: string; private_key_id: string }>(
    ...(['POST', '/fcm/service-accounts', {}] as const),
  );
  const known = {
    projectId: account.project_id,
    clientEmail: account.client_email,
    privateKeyId: account.private_key_id,
  };
  await t.setCredential({ channel: 'fcm', public: known, secret: JSON.stringify(account) }, app);
  return { server };
}

/**
 * People who bought twice in 90 days for 50 or more, are German or have no plan, and do not use an
 * old version.
 */
const filter = {
  and: [
    {
      event: 'purchase',
      count: { op: 'gte', value: 2 },
      within: '90d',
      where: [{ field: 'properties.amount', op: 'gte', value: 50 }],
    },
    {
      or: [
        { field: 'country', op: 'eq', value: 'de' },
        { field: 'properties.plan', op: 'not_exists' },
      ],
    },
    { not: { field: 'device.app_version', op: 'starts_with', value: '3.' } },
  ],
};

/** The people, and whether the filter selects them. */
const people = [
  { name: 'german buyer', country: 'DE', plan: 'pro', amounts: [50, 80], version: '4.1', isMeant: true },
  { name: 'without a plan', country: 'FR', plan: null, amounts: [60, 50], version: null, isMeant: true },
  { name: 'french with a plan', country: 'FR', plan: 'pro', amounts: [90, 90], version: '4.1', isMeant: false },
  { name: 'bought once', country: 'DE', plan: 'pro', amounts: [500], version: '4.1', isMeant: false },
  { name: 'bought little', country: 'DE', plan: null, amounts: [49.99, 50], version: '4.1', isMeant: false },
  { name: 'old version', country: 'DE', plan: null, amounts: [50, 50], version: '3.9', isMeant: false },
  { name: 'bought nothing', country: 'DE', plan: null, amounts: [], version: '4.1', isMeant: false },
  { name: 'opted out', country: 'DE', plan: null, amounts: [50, 50], version: '4.1', isMeant: false },
] as const;

describe('a filter that is saved, previewed and sent to', () => {
  it('reaches exactly the devices that the preview counted', async () => {
    const { server } = await newShop();
    const { devices } = await sandbox.call<{ devices: { token: string }[] }>(
      ...(['POST', '/devices', { platform: 'android', count: people.length + 2 }] as const),
    );
    const tokens = devices.map(({ token }) => token);
    const meant = new Set<string>();
    const register = async (token: string, app_version: string | null): Promise<string> =>
      (await server.post('/v1/devices', { platform: 'android', token, app_version })).body.id;
    for (const [i, person] of people.entries()) {
      const token = tokens[i] ?? '';
      const device_id = await register(token, person.version);
      const { country, plan, name: external_id } = person;
      await server.post('/v1/users', { external_id, country, properties: { plan }, device_id });
      for (const amount of person.amounts) {
        const purchase = { name: 'purchase', external_id, properties: { amount, currency: 'EUR' } };
        expect((await server.post('/v1/events', { events: [purchase] })).status).toBe(200);
      }
      if (person.isMeant) meant.add(token);
      if (external_id === 'opted out') await server.delete(`/v1/devices/${device_id}`);
    }
    // One user has a second device. Another device bought before anybody logged in on it; the
    // purchase now counts for its user.
    const [second = '', anonymous = ''] = tokens.slice(people.length);
    const secondId = await register(second, '4.1');
    await server.post('/v1/users', { external_id: 'german buyer', device_id: secondId });
    const anonymousId = await register(anonymous, '4.1');
    for (const amount of [70, 71]) {
      const purchase = { name: 'purchase', device_id: anonymousId, properties: { amount, currency: 'EUR' } };
      expect((await server.post('/v1/events', { events: [purchase] })).status).toBe(200);
    }
    await server.post('/v1/users', { external_id: 'late', country: 'DE', device_id: anonymousId });
    for (const token of [second, anonymous]) meant.add(token);

    const { body: segment } = await server.post('/v1/segments', { name: 'Buyers', filter });
    const counted = { count: meant.size, users: 3, by_channel: { webpush: 0, apns: 0, fcm: meant.size } };
    for (const [title, audience] of [
      ['by filter', { filter }],
      ['by segment', { segment_id: segment.id }],
    ] as const) {
      const { body: preview } = await server.post('/v1/segments/preview', { audience });
      expect(preview).toMatchObject(counted);
      const { body: message } = await server.post('/v1/messages', { audience, content: { title } });
      expect(message.report).toMatchObject({ accepted: meant.size, sent: meant.size });
      const { records } = await sandbox.call<Log>('GET', '/log');
      const reached = records.flatMap(({ token, notification }) => (notification?.title === title ? [token] : []));
      expect(reached.sort()).toEqual([...meant].sort());
    }
  });
});
