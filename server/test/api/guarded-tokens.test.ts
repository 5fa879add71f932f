// Endpoints that lead to no public address, as an attacker with a client key would register them.
import { describe, expect, it } from 'vitest';
import { refusedUrls } from '../fixtures/refused-urls.ts';
import { setup } from '../setup.ts';

const unguarded = { OUTBOUND_ALLOW_CIDRS: '', OUTBOUND_RESOLVE: '' };
const anyHost = await setup({ workers: false, environment: { ...unguarded, PUSH_HOSTS: '*' } });
const usual = await setup({ workers: false, environment: { ...unguarded, PUSH_HOSTS: '' } });

async function register(t: typeof usual, endpoint: string, asText: boolean) {
  const token = { ...t.pushSubscription(), endpoint };
  return t.client.post('/v1/devices', { platform: 'web', token: asText ? JSON.stringify(token) : token });
}

describe('R-36 POST /v1/devices with a client key', () => {
  const refused = [...refusedUrls, 'https://example.com:8443/push', 'https://carillon.test.example/push'];

  it.each(refused)('%j is refused when every public host is allowed', async (endpoint) => {
    for (const asText of [true, false]) {
      const { status, body } = await register(anyHost, endpoint, asText);
      expect({ status, error: body.error }).toEqual({ status: 400, error: 'validation_failed' });
      expect(body.issues.length).toBeGreaterThan(0);
      for (const { path } of body.issues) expect(path[0]).toBe('token');
    }
  });

  it('refused tokens store nothing, and public hosts are accepted', async () => {
    expect(await anyHost.sql`SELECT 1 FROM devices`).toHaveLength(0);
    expect((await register(anyHost, 'https://push.example.org/x', true)).status).toBe(200);
  });

  it.each([
    ...['https://push.apple.com.evil.example/x', 'https://evilpush.apple.com/x', 'https://push.example.org/x'],
    ...['https://fcm.googleapis.com.evil.example/x', 'https://example.com/fcm.googleapis.com'],
  ])('%s is not on the default list', async (endpoint) => {
    const { status, body } = await register(usual, endpoint, true);
    expect(status).toBe(400);
    expect(body.issues).toMatchObject([{ path: ['token'], code: 'host_not_allowed' }]);
  });

  it('the browsers’ own push services are on the default list', async () => {
    for (const address of [
      ...['fcm.googleapis.com/fcm/send/x', 'fcm.googleapis.com/wp/x', 'updates.push.services.mozilla.com/wpush/v2/x'],
      ...['web.push.apple.com/x', 'wns2-par02p.notify.windows.com/w/?token=x'],
    ]) {
      expect((await register(usual, `https://${address}`, true)).status).toBe(200);
    }
  });

  it('other endpoints of the browsers’ push services are not', async () => {
    for (const address of [
      ...['fcm.googleapis.com/v1/projects/x', 'wns2-par02p.notify.windows.com/x?token=x'],
      ...['attacker.wns2.notify.windows.com/w/?token=x', 'attacker_.notify.windows.com/w/?token=x'],
    ]) {
      const { status, body } = await register(usual, `https://${address}`, true);
      expect(status).toBe(400);
      expect(body.issues).toMatchObject([{ path: ['token'], code: 'host_not_allowed' }]);
    }
  });
});
