// A push service's words decide over its status, from the answer to the device and the credential
// (contract 7.6).
import { expect, test } from 'vitest';
import { setup } from '../setup.ts';

const senderId =
  'the key in the authorization header does not correspond to the sender ID used to subscribe this user. Please ensure you are using the correct sender ID and server Key from the Firebase console.\n';
const page = '<HTML>\n<HEAD>\n<TITLE>UnauthorizedRegistration</TITLE>\n</HEAD>\n<BODY><H2>Error 400</H2></BODY></HTML>';

test.each([
  ['a sentence with the sender ID', 403, senderId],
  ['MismatchSenderId', 403, 'Error=MismatchSenderId'],
  ['a page', 400, page],
])('a mismatch of one subscription, told by %s, says nothing of the credential', async (_what, status, body) => {
  const t = await setup();
  const register = async (name: string): Promise<string> => {
    const answer = await t.client.post('/v1/devices', { platform: 'web', token: t.pushSubscription(name) });
    return answer.body.id;
  };
  t.push.script('stale', (_request, response) => response.writeHead(status).end(body));
  const [good, stale] = [await register('good'), await register('stale')];
  const send = async () => {
    const audience = { device_ids: [good, stale] };
    const { body: sent } = await t.server.post('/v1/messages', { audience, content: { title: 'News' } });
    await t.judged();
    return sent;
  };
  const statusOf = async () => {
    const { data } = (await t.server.get('/v1/devices')).body;
    const { status, status_reason: reason } = data.find(({ id }: { id: string }) => id === stale);
    return [status, reason];
  };
  for (let message = 1; message <= 3; message += 1) {
    const sent = await send();
    const { data } = (await t.server.get(`/v1/messages/${sent.id}/deliveries?device_id=${stale}`)).body;
    expect(data).toMatchObject([{ status: 'failed', error_code: 'credential_mismatch' }]);
    expect(await t.sql`SELECT state FROM credentials WHERE channel = 'webpush'`).toEqual([{ state: 'ok' }]);
    expect(await statusOf()).toEqual(message < 3 ? ['active', null] : ['invalid', 'credential_mismatch']);
  }
});
