// `event delete`: deletes a name under which an app's events are tracked.
import { z } from 'zod';
import { deleteEventName } from '../../insight/events/delete-event-name.ts';
import { deleteCreditsOfName } from '../../insight/reports/forget-queries.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { note } from './answer.ts';
import { command } from './command.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './context.ts';
import { getApp } from './find-app.ts';
import { printable } from './render.ts';

export const eventCommands = [
  command({
    form: 'event delete <APP> <NAME>',
    help: 'delete a name with its events, counts and sums, and say how many; the event ids stay used',
    input: z.strictObject({ app: z.string(), name: z.string() }),
    run: ({ app: appName, name }) =>
      withDatabase(loadCommandConfig(), async (context) => {
        const app = await getApp(context.sql, appName);
        const of = `'${printable(name)}' of ${printable(app.name)}`;
        const deleted = await deleteEventName(context, {
          appId: app.id,
          name,
          onCounted: (events) => note(`Deleting the ${events} events ${of}`),
          forgetCredits: (tx) => deleteCreditsOfName(tx, app.id, name),
        });
        if (deleted === undefined) throw new CommandError(`No event was ever tracked as ${of}`);
        return { document: { name, deleted }, text: `${deleted} events ${of} are deleted.` };
      }),
  }),
];
