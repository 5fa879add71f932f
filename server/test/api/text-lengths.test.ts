// Contract 1: lengths of texts are counted in UTF-16 code units, of which this bell has two.
import { expect, it } from 'vitest';
import { setup } from '../setup.ts';

const t = await setup();
const device = await t.registerDevice();
const content = { title: 'Sale' };
const filter = { field: 'country', op: 'eq', value: 'DE' };
const dry = { audience: { all: true }, content, dry_run: true };
const bells = (units: number): string => '🔔'.repeat(units / 2);

it.each<[string, number, (path: string) => object, (string | number)[]]>([
  ['/v1/users', 256, (external_id) => ({ external_id }), ['external_id']],
  ['/v1/users', 128, (first_name) => ({ external_id: 'u-1', first_name }), ['first_name']],
  ['/v1/identify', 256, (external_id) => ({ device_id: device, external_id }), ['external_id']],
  ['/v1/events', 256, (external_id) => ({ name: 'opened', external_id }), ['external_id']],
  ['/v1/events', 128, (name) => ({ name }), ['name']],
  ['/v1/segments', 128, (name) => ({ name, filter }), ['name']],
  ['/v1/segments', 1024, (description) => ({ name: 'Described', filter, description }), ['description']],
  ['/v1/messages', 128, (name) => ({ ...dry, name }), ['name']],
  ['/v1/messages', 1024, (title) => ({ ...dry, content: { title } }), ['content', 'title']],
  [
    '/v1/messages',
    256,
    (external_id) => ({ ...dry, audience: { external_ids: [external_id] } }),
    ['audience', 'external_ids', 0],
  ],
  ['/v1/devices', 64, (model) => ({ platform: 'web', token: t.pushSubscription(), model }), ['model']],
])('%s takes %i units and no more in %3$j', async (path, most, bodyOf, field) => {
  const [full, over] = [
    await t.server.post(path, bodyOf(bells(most))),
    await t.server.post(path, bodyOf(bells(most + 2))),
  ];
  expect({ status: full.status, issues: full.body.issues }).toEqual({ status: 200 });
  expect(over).toMatchObject({ status: 400, body: { issues: [{ path: field, code: 'too_big' }] } });
});
