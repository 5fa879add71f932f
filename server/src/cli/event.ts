// `event …`: the names under which an app's events are tracked.
import type { Command } from 'commander';
import { deleteEventName } from '../events/delete-event-name.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { deleteCreditsOfName } from '../reports/forget-queries.ts';
import { type Answer, type AnswerOptions, answer, note, printable, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './context.ts';
import { getApp } from './find-app.ts';

export function addEventCommands(program: Command): void {
  const event = program.command('event').description('the names of tracked events');
  withJson(event.command('delete <APP> <NAME>'))
    .description('delete a name with its events, counts and sums, and say how many; the event ids stay used')
    .action((app: string, name: string, options: AnswerOptions) => answer(options, () => deleteName(app, name)));
}

async function deleteName(appName: string, name: string): Promise<Answer> {
  return withDatabase(loadCommandConfig(), async (context) => {
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
  });
}
