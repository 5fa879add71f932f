// The entry of the command line: reads the arguments, runs one command, and says in one line why it
// failed.
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { printable } from './cli/answer.ts';
import { addAppCommands } from './cli/app.ts';
import { addAuditCommand } from './cli/audit.ts';
import { addBackupCommands } from './cli/backup.ts';
import { addChannelCommands } from './cli/channel.ts';
import { closest } from './cli/closest.ts';
import { CommandError } from './cli/command-error.ts';
import { addDeviceCommands } from './cli/device.ts';
import { addDoctorCommand } from './cli/doctor.ts';
import { addEventCommands } from './cli/event.ts';
import { addExplainCommand } from './cli/explain.ts';
import { addExportCommands } from './cli/export.ts';
import { addIdentifySecretCommands } from './cli/identify-secret.ts';
import { addImportCommand } from './cli/import.ts';
import { addKeyCommands } from './cli/key.ts';
import { addMigrateCommand } from './cli/migrate.ts';
import { addOwnerCommands } from './cli/owner.ts';
import { addPauseCommands } from './cli/pause.ts';
import { addPropertyCommands } from './cli/property.ts';
import { addReceiptKeyCommands } from './cli/receipt-key.ts';
import { addReportCommands } from './cli/reports.ts';
import { addSandboxCommand } from './cli/sandbox.ts';
import { addSealCommands } from './cli/seal.ts';
import { addSeedCommand } from './cli/seed.ts';
import { addStartCommand } from './cli/start.ts';
import { isBeingStopped } from './cli/stop-signals.ts';
import { addTokenCommands } from './cli/token.ts';
import { addWebhookCommands } from './cli/webhook.ts';
import { isDatabaseDown } from './database/db.ts';
import { describeDatabaseError } from './database/describe-database-error.ts';
import { ApiError } from './http/api-error.ts';
import { loadCommandConfig } from './process/service-place.ts';

function buildProgram(): Command {
  const program = new Command('carillon')
    .description('One API that rings every device: a self-hosted push notification service.')
    .exitOverride()
    // `main` prints all errors alike, each on one line.
    .configureOutput({ outputError: () => undefined })
    .version(readVersion(), '-V, --version', 'print the version');
  // The service is loaded by `start` only, so that a command that lists apps is quick.
  addStartCommand(program, async (config, options) =>
    (await import('./process/supervisor.ts')).runStart(config, options),
  );
  addMigrateCommand(program);
  addPauseCommands(program);
  addAppCommands(program);
  addKeyCommands(program);
  addChannelCommands(program);
  addDeviceCommands(program);
  addEventCommands(program);
  addPropertyCommands(program);
  addWebhookCommands(program);
  addIdentifySecretCommands(program);
  addExplainCommand(program);
  addExportCommands(program);
  addSeedCommand(program);
  addImportCommand(program);
  addSandboxCommand(program);
  addDoctorCommand(program);
  addBackupCommands(program);
  addReportCommands(program);
  addSealCommands(program);
  addReceiptKeyCommands(program);
  addAuditCommand(program);
  addOwnerCommands(program);
  addTokenCommands(program);
  // A group such as `app` alone is no command: say which word is missing instead of printing a
  // page.
  for (const command of [program, ...program.commands]) {
    if (command.commands.length === 0) continue;
    command.helpCommand('help [COMMAND]', 'print this, or the help of a command');
    command.allowExcessArguments().action((_options, self: Command) => sayWhatIsMissing(self));
  }
  return program;
}

function sayWhatIsMissing(command: Command): never {
  const [unknown] = command.args;
  const names = command.commands.map((each) => each.name());
  if (unknown === undefined) throw new CommandError(`Say what to do: ${names.join(', ')} (or --help)`);
  const meant = closest(unknown, names);
  const hint = meant === undefined ? names.join(', ') : `did you mean '${meant}'?`;
  throw new CommandError(`There is no command '${printable(unknown)}': ${hint} (or --help)`);
}

function readVersion(): string {
  const file = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** Runs one command and resolves with its exit status. */
async function main(argv: readonly string[]): Promise<number> {
  try {
    await buildProgram().parseAsync([...argv], { from: 'user' });
    // A stream tells of its errors later.
    await new Promise(setImmediate);
    // The service does its work all the same, and has said so in its log.
    if (outputFailure && argv[0] !== 'start') throw new CommandError(`standard output: ${outputFailure.message}`);
    return Number(process.exitCode ?? 0);
  } catch (error) {
    // Commander ends `--help` this way.
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    // The signal's handler ends the process when all clean-ups are done.
    if (isBeingStopped()) return new Promise(() => undefined);
    process.stderr.write(`carillon: ${inOneLine(explain(error))}\n`);
    return 1;
  }
}

function explain(error: unknown): string {
  if (error instanceof CommanderError) return error.message.replace(/^error: /, '');
  if (error instanceof ApiError) return (error.details.issues ?? [error]).map((each) => each.message).join(' ');
  if (isDatabaseDown(error) || (error as { code?: unknown }).code === '42501') {
    return describeDatabaseError(error, loadCommandConfig());
  }
  return error instanceof Error ? error.message : String(error);
}

function inOneLine(text: string): string {
  return text.replaceAll(/\s+/g, (blanks) => (blanks.includes('\n') ? ' ' : blanks));
}

/** Why standard output took no more; undefined while it does. */
let outputFailure: NodeJS.ErrnoException | undefined;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough, such as `head`, is no error.
  if (error.code !== 'EPIPE') outputFailure ??= error;
});
// Progress that nobody can read ends no command.
process.stderr.on('error', () => undefined);

const status = await main(process.argv.slice(2));
// A failed command may have left something open that would keep this process running. A successful
// command has closed everything.
if (status !== 0) process.exit(status);
process.exitCode = status;
