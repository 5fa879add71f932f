// `user …`: erases one person, also one whose id no path can carry (contract 5.17).
import type { Command } from 'commander';
import { loadCommandConfig } from '../process/service-place.ts';
import { eraseUser } from '../users/erase-user.ts';
import { type Answer, type AnswerOptions, answer, printable, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './context.ts';
import { getApp } from './find-app.ts';

export function addUserCommands(program: Command): void {
  const user = program.command('user').description('erase people');
  withJson(user.command('erase <APP> <EXTERNAL_ID>'))
    .description('erase a user as DELETE /v1/users does; for ids that no path can carry, such as ..')
    .action((app: string, externalId: string, options: AnswerOptions) => answer(options, () => erase(app, externalId)));
}

async function erase(appName: string, externalId: string): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async (context) => {
    const app = await getApp(context.sql, appName);
    const erased = await eraseUser(context, app.id, externalId);
    if (!erased) throw new CommandError(`${printable(app.name)} has no user '${printable(externalId)}'`);
    const { devicesRemoved } = erased;
    return {
      document: { external_id: externalId, deleted: true, devices_removed: devicesRemoved },
      text: `${printable(externalId)} is erased; ${devicesRemoved} devices are opted out. Events and deliveries forget the person within a day.`,
    };
  });
}
