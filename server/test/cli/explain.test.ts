// `explain`: why a person or a device got a message or not, in words.
import { expect, it } from 'vitest';
import { unknownId } from '../setup.ts';
import { refusal, setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();

it('answers in words and as the document of the API, and names what is missing', async () => {
  const { publicId: app } = await cli.newApp('Asked');
  const { stdout } = await cli.run('explain', '--app', app, '--user', 'u-42');
  expect(stdout).toBe('unknown_user: There is no user u-42 in this app.\n');
  expect(await cli.json('explain', '--app', 'Asked', '--user', 'u-42')).toEqual({
    message_id: null,
    external_id: 'u-42',
    device_id: null,
    verdict: 'unknown_user',
    summary: 'There is no user u-42 in this app.',
    messages: [],
    devices: [],
  });
  const message = unknownId('msg');
  expect(await cli.run('explain', '--app', app, '--user', 'u-42', '--message', message)).toMatchObject(
    refusal(new RegExp(`No message ${message}`)),
  );
  expect(await cli.run('explain', '--app', app)).toMatchObject(refusal(/--user or --device/));
  expect(await cli.run('explain', '--app', app, '--user', 'a', '--device', 'b')).toMatchObject(refusal(/not both/));
});
