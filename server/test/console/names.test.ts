// Names for people cannot pass for other names: no field takes a control of direction, a line break
// or a character that cannot be seen (R-54 shows the rest as text).
import { expect, it } from 'vitest';
import { encodeId } from '../../src/ground/values/ids.ts';
import { setup } from '../setup.ts';
import { signIn } from './console.ts';

const t = await setup();
const owner = await signIn(t, 'owner');
const at = (path: string): string => `/apps/${encodeId('app', t.app.id)}${path}`;
const filter = { field: 'country', op: 'eq', value: 'DE' };
const message = { audience: { all: true }, content: { title: 'Sale' } };
const device = await t.registerDevice();
const person = await owner.send('POST', '/team/invites', { role: 'viewer', email: 'ben@shop.example' });

const fields: Readonly<Record<string, (name: string) => Promise<{ status: number; body: { issues?: object[] } }>>> = {
  'an app': (name) => owner.send('POST', '/apps', { name }),
  'a key': (name) => owner.send('POST', at('/keys'), { scope: 'client', name }),
  'an operator token': (name) => owner.send('POST', '/tokens', { name, role: 'viewer' }),
  'a member': (name) =>
    owner.send('POST', '/join', { secret: person.body.link.split('#')[1], name, password: 'a password of mine' }),
  'an organisation': async (name) => {
    const { organisation } = (await owner.send('GET', '/team')).body;
    return owner.send('PUT', '/organisation', { name, updated_at: organisation.updated_at });
  },
  'a segment': (name) => owner.send('POST', at('/segments'), { name, filter }),
  'a segment by server key': (name) => t.server.post('/v1/segments', { name: `${name} `, filter }),
  'a message': (name) => owner.send('POST', at('/messages'), { ...message, name, dry_run: true }),
  'a message by server key': (name) => t.server.post('/v1/messages', { ...message, name, dry_run: true }),
  'a draft': (name) => owner.send('POST', at('/drafts'), { name, message }),
  'a template': (name) => owner.send('POST', at('/templates'), { name, content: message.content }),
  'an event by client key': (name) => t.client.post('/v1/events', { name, device_id: device }),
};
const unseen = {
  'a reversal': 'Sale\u202Efdp',
  'a space of no width': 'Sa\u200Ble',
  'a joiner': 'Sa\u200Dle',
  'a soft hyphen': 'Sa\u00ADle',
  'a filler': 'Sa\u3164le',
  'a line break': 'Sa\nle',
};

it.each(Object.keys(fields))('the name of %s holds nothing that cannot be seen', async (field) => {
  const send = fields[field];
  if (!send) throw new Error(`there is no field ${field}`);
  // A session asks sixty times a second at most.
  t.clock.advance(1000);
  for (const [what, name] of Object.entries(unseen)) {
    const { status, body } = await send(name);
    expect({ what, status, issues: body.issues }).toMatchObject({ what, status: 400, issues: [{ path: ['name'] }] });
  }
  expect((await send('👩\u200D💻 Zoë')).status).toBe(200);
});
