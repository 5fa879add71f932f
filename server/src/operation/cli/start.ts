// `start`: runs the service until it is told to stop.
import { type Command, Option } from 'commander';
import { type Config, loadConfig, type Role } from '../../config.ts';
import { wholeNumber } from './whole-number.ts';

export type RunStart = (config: Config, options: { role?: Role; workers?: number; json?: boolean }) => Promise<void>;

export function addStartCommand(program: Command, runStart: RunStart): void {
  program
    .command('start')
    .description('run the service')
    .addOption(new Option('--role <ROLE>', 'which processes; without it ROLE').choices(['all', 'api', 'worker']))
    .option('--workers <N>', 'how many worker processes; without it WORKERS', wholeNumber('--workers', 1, 256))
    .option('--json', 'print one JSON document when it answers')
    .action((options: { role?: Role; workers?: number; json?: boolean }) => runStart(loadConfig(), options));
}
