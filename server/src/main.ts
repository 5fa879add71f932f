// The entry of the command line: reads the arguments, runs one command, and says in one line why it
// failed.
import { Command, CommanderError } from 'commander';
import { printable } from './cli/answer.ts';
import { closest } from './cli/closest.ts';
import { CommandError } from './cli/command-error.ts';
import { isBeingStopped } from './cli/stop-signals.ts';
import { isDatabaseDown } from './database/db.ts';
import { describeDatabaseError } from './database/describe-database-error.ts';
import { readVersion } from './ground/program-name.ts';
import { ApiError } from './http/api-error.ts';
import { loadCommandConfig } from './process/service-place.ts';

interface CommandModule {
  /** The first words that the module adds to the command line. */
  readonly names: readonly string[];
  load(): Promise<(program: Command) => void>;
}

/**
 * In the order of the help. Only the module of the given word is loaded, because loading modules is
 * most of a start.
 */
const modules: readonly CommandModule[] = [
  { names: ['start'], load: loadStart },
  { names: ['migrate'], load: async () => (await import('./cli/migrate.ts')).addMigrateCommand },
  { names: ['pause', 'resume'], load: async () => (await import('./cli/pause.ts')).addPauseCommands },
  { names: ['app'], load: async () => (await import('./cli/app.ts')).addAppCommands },
  { names: ['key'], load: async () => (await import('./cli/key.ts')).addKeyCommands },
  { names: ['channel'], load: async () => (await import('./cli/channel.ts')).addChannelCommands },
  { names: ['device'], load: async () => (await import('./cli/device.ts')).addDeviceCommands },
  { names: ['user'], load: async () => (await import('./cli/user.ts')).addUserCommands },
  { names: ['event'], load: async () => (await import('./cli/event.ts')).addEventCommands },
  { names: ['property'], load: async () => (await import('./cli/property.ts')).addPropertyCommands },
  { names: ['webhook'], load: async () => (await import('./cli/webhook.ts')).addWebhookCommands },
  {
    names: ['identify-secret'],
    load: async () => (await import('./cli/identify-secret.ts')).addIdentifySecretCommands,
  },
  { names: ['explain'], load: async () => (await import('./cli/explain.ts')).addExplainCommand },
  { names: ['export'], load: async () => (await import('./cli/export.ts')).addExportCommands },
  { names: ['seed'], load: async () => (await import('./cli/seed.ts')).addSeedCommand },
  { names: ['import'], load: async () => (await import('./cli/import.ts')).addImportCommand },
  { names: ['sandbox'], load: async () => (await import('./cli/sandbox.ts')).addSandboxCommand },
  { names: ['doctor'], load: async () => (await import('./cli/doctor.ts')).addDoctorCommand },
  { names: ['backup', 'restore'], load: async () => (await import('./cli/backup.ts')).addBackupCommands },
  { names: ['reports'], load: async () => (await import('./cli/reports.ts')).addReportCommands },
  { names: ['seal'], load: async () => (await import('./cli/seal.ts')).addSealCommands },
  { names: ['receipt-key'], load: async () => (await import('./cli/receipt-key.ts')).addReceiptKeyCommands },
  { names: ['audit'], load: async () => (await import('./cli/audit.ts')).addAuditCommand },
  { names: ['owner'], load: async () => (await import('./cli/owner.ts')).addOwnerCommands },
  { names: ['token'], load: async () => (await import('./cli/token.ts')).addTokenCommands },
];

async function loadStart(): Promise<(program: Command) => void> {
  const { addStartCommand } = await import('./cli/start.ts');
  return (program) =>
    addStartCommand(program, async (config, options) =>
      (await import('./process/supervisor.ts')).runStart(config, options),
    );
}

async function buildProgram(argv: readonly string[]): Promise<Command> {
  const program = new Command('carillon')
    .description('One API that rings every device: a self-hosted push notification service.')
    .exitOverride()
    // Nothing is printed here, because `main` prints every error on one line.
    .configureOutput({ outputError: () => undefined })
    .version(readVersion(), '-V, --version', 'print the version');
  const [word = ''] = argv;
  const named = modules.filter(({ names }) => names.includes(word));
  // The help and a word that nobody knows name all commands.
  for (const { load } of named.length > 0 ? named : modules) (await load())(program);
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

/** Runs one command and resolves with its exit status. */
async function main(argv: readonly string[]): Promise<number> {
  try {
    await (await buildProgram(argv)).parseAsync([...argv], { from: 'user' });
    // A stream reports its errors later.
    await new Promise(setImmediate);
    // `start` is exempt: the service works all the same, and its log reports the failure.
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

/** Why standard output accepts no more; undefined while it accepts. */
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
