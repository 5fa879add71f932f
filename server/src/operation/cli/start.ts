// `start`: runs the service until it is told to stop.
import { type Command, Option } from 'commander';
import { loadConfig, type Role } from '../../config.ts';
import { wholeNumber } from './command.ts';

export function addCommands(program: Command): void {
  program
    .command('start')
    .description('run the service')
    .addOption(new Option('--role <ROLE>', 'which processes; without it ROLE').choices(['all', 'api', 'worker']))
    .option('--workers <N>', 'how many worker processes; without it WORKERS', wholeNumber('--workers', 1, 256))
    .option('--json', 'print one JSON document when it answers')
    // Imported for this command only, because it loads the whole service.
    .action(async (options: { role?: Role; workers?: number; json?: boolean }) =>
      (await import('../process/supervisor.ts')).runStart(loadConfig(), options),
    );
}
