// `user erase`: erases one person, also one whose id no path can carry (contract 5.17).
import { z } from 'zod';
import { eraseUser } from '../../people/users/erase-user.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { command } from './command.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './context.ts';
import { getApp } from './find-app.ts';
import { printable } from './render.ts';

export const userCommands = [
  command({
    form: 'user erase <APP> <EXTERNAL_ID>',
    help: 'erase a user as DELETE /v1/users does; for ids that no path can carry, such as ..',
    input: z.strictObject({ app: z.string(), external_id: z.string() }),
    run: ({ app: name, external_id: externalId }) =>
      withDatabase(loadCommandConfig(), async (context) => {
        const app = await getApp(context.sql, name);
        const erased = await eraseUser(context, app.id, externalId);
        if (!erased) throw new CommandError(`${printable(app.name)} has no user '${printable(externalId)}'`);
        return {
          document: { external_id: externalId, deleted: true, devices_removed: erased.devicesRemoved },
          also: ['Events and deliveries forget the person within a day.'],
        };
      }),
  }),
];
