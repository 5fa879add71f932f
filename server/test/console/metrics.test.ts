// GET /metrics on the main port (operating: Configuration): a session of the console or
// METRICS_TOKEN.
import { expect, it } from 'vitest';
import { setup } from '../setup.ts';
import { makeOrganisation, scriptOf, signIn } from './console.ts';

const metricsToken = 'a-token-for-metrics';
const t = await setup({ workers: false, environment: { METRICS_TOKEN: metricsToken } });

it('shows a signed-in person the metrics, of any role, and nobody with a wrong cookie', async () => {
  const { cookie } = await signIn(t, 'viewer');
  const shown = await t.request('GET', '/metrics', { headers: { cookie } });
  expect({ status: shown.status, type: shown.headers.get('content-type') }).toMatchObject({ status: 200 });
  expect(shown.body).toContain('# TYPE carillon_');
  const wrong = await t.request('GET', '/metrics', { headers: { cookie: '__Host-carillon_session=wrong' } });
  expect({ status: wrong.status, error: wrong.body.error }).toEqual({ status: 401, error: 'not_signed_in' });
});

it('R-60 shows them to nobody of another organisation, because they name webhooks of all', async () => {
  const { cookie } = await signIn(t, 'owner', await makeOrganisation(t, 'Elsewhere'));
  const { status, body } = await t.request('GET', '/metrics', { headers: { cookie } });
  expect({ status, error: body.error }).toEqual({ status: 403, error: 'role_too_low' });
});

it('shows them to METRICS_TOKEN, and not to API keys', async () => {
  expect((await t.request('GET', '/metrics', { key: metricsToken })).status).toBe(200);
  expect((await t.request('GET', '/metrics', { key: t.app.serverKey })).body.error).toBe('invalid_key');
  expect((await t.request('GET', '/metrics')).body.error).toBe('missing_key');
});

it('is there for sessions without METRICS_TOKEN too, and not while METRICS_PORT is set', async () => {
  const bare = await setup({ workers: false });
  const apart = await setup({ workers: false, environment: { METRICS_PORT: '0' } });
  const viewer = await signIn(bare, 'viewer');
  expect((await bare.request('GET', '/metrics', { headers: { cookie: viewer.cookie } })).status).toBe(200);
  expect((await bare.request('GET', '/metrics')).status).toBe(404);
  const { cookie } = await signIn(apart, 'owner');
  expect((await apart.request('GET', '/metrics', { headers: { cookie } })).status).toBe(404);
  expect((await (await scriptOf(bare, 'owner'))('GET', '/session')).status).toBe(403);
});
