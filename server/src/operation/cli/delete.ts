// The commands that delete for good: `device purge`, `user erase` and `event delete`.
import { z } from 'zod';
import { deleteEventName } from '../../insight/events/delete-event-name.ts';
import { deleteCreditsOfName } from '../../insight/reports/forget-queries.ts';
import { purgeDevices } from '../../people/devices/purge-devices.ts';
import { eraseUser } from '../../people/users/erase-user.ts';
import { CommandError, note } from './answer.ts';
import { flag, wholeBetween } from './command.ts';
import { appCommand } from './database-command.ts';
import { printable } from './render.ts';

export const commands = [
  appCommand({
    form: 'device purge <APP>',
    help: 'delete devices that were registered by client key and that nothing ever reached',
    fields: {
      never_reached: flag.describe('devices that no push and no receipt ever reached; only these can be purged'),
      older_than: wholeBetween(0, 36_500).optional(),
      dry_run: flag.describe('count them and delete none'),
    },
    writes: { older_than: '--older-than <DAYS>  only devices registered longer ago; 0: all of them' },
    check({ never_reached, older_than }) {
      if (!never_reached) throw new CommandError('Say --never-reached: no other devices can be purged');
      daysOf(older_than);
    },
    async run(context, app, { older_than, dry_run: isDryRun }) {
      const olderThanDays = daysOf(older_than);
      const onProgress = (done: number): void => note(`${done} devices are deleted`);
      const { found, deleted } = await purgeDevices(context, { appId: app.id, olderThanDays, isDryRun, onProgress });
      const of = `of ${printable(app.name)} that were registered by client key and never reached`;
      return {
        document: { found, deleted, dry_run: isDryRun },
        text: isDryRun ? `${found} devices ${of} would be deleted.` : `${deleted} devices ${of} are deleted.`,
      };
    },
  }),
  // Also erases a person whose id no path can carry (contract 5.17).
  appCommand({
    form: 'user erase <APP> <EXTERNAL_ID>',
    help: 'erase a user as DELETE /v1/users does; for ids that no path can carry, such as ..',
    fields: { external_id: z.string() },
    async run(context, app, { external_id }) {
      const erased = await eraseUser(context, app.id, external_id);
      if (!erased) throw new CommandError(`${printable(app.name)} has no user '${printable(external_id)}'`);
      return {
        document: { external_id, deleted: true, devices_removed: erased.devicesRemoved },
        also: ['Events and deliveries forget the person within a day.'],
      };
    },
  }),
  appCommand({
    form: 'event delete <APP> <NAME>',
    help: 'delete a name with its events, counts and sums, and say how many; the event ids stay used',
    fields: { name: z.string() },
    async run(context, app, { name }) {
      const of = `'${printable(name)}' of ${printable(app.name)}`;
      const deleted = await deleteEventName(context, {
        appId: app.id,
        name,
        onCounted: (events) => note(`Deleting the ${events} events ${of}`),
        forgetCredits: (tx) => deleteCreditsOfName(tx, app.id, name),
      });
      if (deleted === undefined) throw new CommandError(`No event was ever tracked as ${of}`);
      return { document: { name, deleted }, text: `${deleted} events ${of} are deleted.` };
    },
  }),
];

/** Nothing is deleted without an age. */
function daysOf(olderThan: number | undefined): number {
  if (olderThan === undefined) throw new CommandError('Say how old they are at least: --older-than DAYS (0: all)');
  return olderThan;
}
