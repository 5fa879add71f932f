// `channel set` and `channel test`. A private key is read from a file, stored, and never shown.
import { z } from 'zod';
import { channelAreaRoutes } from '../../console/operations/channel-routes.ts';
import { channelIds } from '../../sending/channels/channel.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { CommandError } from './answer.ts';
import { bodyShape, callOperation, operationNamed } from './call-operation.ts';
import { command, fileText } from './command.ts';
import { withDatabase } from './context.ts';
import { readVapidPairs } from './vapid-file.ts';

const setting = { webpush: 'setWebPush', apns: 'setApplePush', fcm: 'setAndroidPush' } as const;
const optional = z.string().optional();

const flags = {
  subject: '--subject <SUBJECT>  webpush: the contact for push services, mailto:ADDRESS or https://…',
  vapid_file: '--vapid-file <FILE>  webpush: VAPID keys, {"publicKey", "privateKey"}; without it new ones are made',
  p8: '--key-file <FILE>  apns: the token signing key, a .p8 file',
  key_id: '--key-id <ID>  apns: its key id',
  team_id: '--team-id <ID>  apns: your team id',
  bundle_id: "--bundle-id <ID>  apns: the app's bundle id",
  environment: '--environment <ENVIRONMENT>  apns: production or sandbox, tried first where a device says neither',
  service_account_json: "--service-account <FILE>  fcm: the service account's private key, a JSON file",
};

export const commands = [
  command({
    form: 'channel set <APP> <CHANNEL>',
    help: 'set the credentials of a channel: webpush, apns or fcm',
    input: z.strictObject({
      app: z.string(),
      channel: z.enum(channelIds),
      subject: optional,
      vapid_file: optional,
      p8: fileText.optional(),
      key_id: optional,
      team_id: optional,
      bundle_id: optional,
      environment: optional,
      service_account_json: fileText.optional(),
    }),
    writes: flags,
    async run({ app, channel, vapid_file: vapidFile, ...fields }) {
      const operation = operationNamed(channelAreaRoutes, setting[channel]);
      const taken = Object.keys(bodyShape(operation));
      const given = { ...(vapidFile !== undefined && { vapid_file: vapidFile }), ...fields };
      const foreign = Object.keys(given).find(
        (name) => !taken.includes(name) && !(name === 'vapid_file' && channel === 'webpush'),
      );
      if (foreign) {
        const [name] = flags[foreign as keyof typeof flags].split(' ');
        throw new CommandError(`${name} does not belong to the channel ${channel}`);
      }
      const keys = vapidFile === undefined ? {} : readOnePair(vapidFile);
      return withDatabase(loadCommandConfig(), async (context) => ({
        document: await callOperation(context, { operation, given: { app, ...keys, ...fields }, seals: true }),
      }));
    },
  }),
  command({
    form: 'channel test <APP> <CHANNEL>',
    help: 'send one push by the normal path',
    input: z.strictObject({ app: z.string(), channel: z.enum(channelIds), device_id: z.string() }),
    writes: { device_id: '--device <ID>  the device to ring' },
    // Imported for this command only, because it loads the whole service.
    run: async (_input, given) => (await import('./test-channel.ts')).testChannel(given),
  }),
];

function readOnePair(file: string): Readonly<Record<string, unknown>> {
  const [pair, ...more] = readVapidPairs(file);
  if (!pair || more.length > 0)
    throw new CommandError(`--vapid-file ${file} holds several pairs, and a channel has one`);
  const { publicKey, privateKey, subject } = pair;
  return { public_key: publicKey, private_key: privateKey, ...(subject !== undefined && { subject }) };
}
