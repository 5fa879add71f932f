// `device …`: deletes devices that strangers registered with a client key.
import type { Command } from 'commander';
import { purgeDevices } from '../devices/purge-devices.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type Answer, type AnswerOptions, answer, note, printable, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './context.ts';
import { getApp } from './find-app.ts';
import { wholeNumber } from './whole-number.ts';

interface PurgeOptions extends AnswerOptions {
  readonly neverReached?: boolean;
  readonly olderThan?: number;
  readonly dryRun?: boolean;
}

export function addDeviceCommands(program: Command): void {
  const device = program.command('device').description('undo what strangers did with a client key');
  withJson(device.command('purge <APP>'))
    .description('delete devices that were registered by client key and that nothing ever reached')
    .option('--never-reached', 'devices that no push and no receipt ever reached; only these can be purged')
    .option('--older-than <DAYS>', 'only devices registered longer ago; 0: all of them', wholeNumber('DAYS', 0, 36_500))
    .option('--dry-run', 'count them and delete none')
    .action((name: string, options: PurgeOptions) => answer(options, () => purge(name, options)));
}

async function purge(name: string, { neverReached, olderThan, dryRun = false }: PurgeOptions): Promise<Answer> {
  if (!neverReached) throw new CommandError('Say --never-reached: no other devices can be purged');
  if (olderThan === undefined) throw new CommandError('Say how old they are at least: --older-than DAYS (0: all)');
  return withDatabase(loadCommandConfig(), async (context) => {
    const app = await getApp(context.sql, name);
    const { found, deleted } = await purgeDevices(context, {
      appId: app.id,
      olderThanDays: olderThan,
      isDryRun: dryRun,
      onProgress: (done) => note(`${done} devices are deleted`),
    });
    const of = `of ${printable(app.name)} that were registered by client key and never reached`;
    return {
      document: { found, deleted, dry_run: dryRun },
      text: dryRun ? `${found} devices ${of} would be deleted.` : `${deleted} devices ${of} are deleted.`,
    };
  });
}
