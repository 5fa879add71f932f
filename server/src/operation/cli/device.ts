// `device purge`: deletes devices that strangers registered with a client key.
import { z } from 'zod';
import { purgeDevices } from '../../people/devices/purge-devices.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { note } from './answer.ts';
import { command, flag, wholeBetween } from './command.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './context.ts';
import { getApp } from './find-app.ts';
import { printable } from './render.ts';

export const deviceCommands = [
  command({
    form: 'device purge <APP>',
    help: 'delete devices that were registered by client key and that nothing ever reached',
    input: z.strictObject({
      app: z.string(),
      never_reached: flag.describe('devices that no push and no receipt ever reached; only these can be purged'),
      older_than: wholeBetween(0, 36_500).optional(),
      dry_run: flag.describe('count them and delete none'),
    }),
    writes: { older_than: '--older-than <DAYS>  only devices registered longer ago; 0: all of them' },
    async run({ app: name, never_reached: neverReached, older_than: olderThan, dry_run: isDryRun }) {
      if (!neverReached) throw new CommandError('Say --never-reached: no other devices can be purged');
      if (olderThan === undefined) throw new CommandError('Say how old they are at least: --older-than DAYS (0: all)');
      return withDatabase(loadCommandConfig(), async (context) => {
        const app = await getApp(context.sql, name);
        const { found, deleted } = await purgeDevices(context, {
          appId: app.id,
          olderThanDays: olderThan,
          isDryRun,
          onProgress: (done) => note(`${done} devices are deleted`),
        });
        const of = `of ${printable(app.name)} that were registered by client key and never reached`;
        return {
          document: { found, deleted, dry_run: isDryRun },
          text: isDryRun ? `${found} devices ${of} would be deleted.` : `${deleted} devices ${of} are deleted.`,
        };
      });
    },
  }),
];
