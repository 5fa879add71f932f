// bodies that strangers or persons alone send to the console are short, so the service reads
// no long ones.
import { describe, expect, it } from 'vitest';
import { consoleRoutes } from '../../src/console/operations/routes.ts';
import { listRoutes } from '../../src/console/operations/serve.ts';
import { setup } from '../setup.ts';
import { senderOf, signIn } from './console.ts';

const t = await setup({ workers: false });
const ofPeople = listRoutes(consoleRoutes).filter(({ access, body }) => access !== 'session-or-token' && body);

describe('R-103 a body over 4 KiB is refused unread', () => {
  it.each(ofPeople.map(({ method, path, access }) => ({ method, path, access })))(
    'by $method $path',
    async ({ method, path, access }) => {
      const send = access === 'public' ? senderOf(t, {}) : (await signIn(t, 'owner')).send;
      const place = path.replace('/console/api', '').replaceAll(/:\w+/g, 'x');
      const answer = await send(method, place, { x: 'x'.repeat(4096) });
      expect(answer).toMatchObject({ status: 400, body: { error: 'body_too_large' } });
    },
  );
});
