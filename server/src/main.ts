// The entry of the command line: reads the arguments, runs one command, and says in one line why it
// failed.

import { isDatabaseDown } from '@carillon/postgres';
import { Command, CommanderError } from 'commander';
import { describeDatabaseError } from './ground/database/describe-database-error.ts';
import { readVersion } from './ground/host/program-name.ts';
import { ApiError } from './ground/http/api-error.ts';
import { addCommand, type CommandForm } from './operation/cli/command.ts';
import { CommandError } from './operation/cli/command-error.ts';
import { isBeingStopped } from './operation/cli/stop-signals.ts';
import { loadCommandConfig } from './operation/process/service-place.ts';

interface Group {
  /** The first words of its commands. */
  readonly names: readonly string[];
  /** Its help, where its commands have two words. */
  readonly help?: string;
  load(): Promise<readonly CommandForm[] | ((program: Command) => void)>;
}

const operations = async (word: string) => (await import('./operation/cli/operations.ts')).operationCommands(word);

/**
 * In the order of the help. Only the group of the given word is loaded, because loading modules is
 * most of a start.
 */
const groups: readonly Group[] = [
  { names: ['start'], load: loadStart },
  { names: ['migrate'], load: async () => (await import('./operation/cli/migrate.ts')).migrateCommands },
  { names: ['pause', 'resume'], load: () => operations('pause') },
  {
    names: ['app'],
    help: 'apps, their plans and their suspension',
    load: async () => [...(await import('./operation/cli/app.ts')).appCommands, ...(await operations('app'))],
  },
  { names: ['key'], help: 'API keys', load: () => operations('key') },
  {
    names: ['channel'],
    help: 'provider credentials of an app',
    load: async () => [
      ...(await import('./operation/cli/channel.ts')).channelCommands,
      ...(await operations('channel')),
    ],
  },
  {
    names: ['device'],
    help: 'undo what strangers did with a client key',
    load: async () => (await import('./operation/cli/device.ts')).deviceCommands,
  },
  { names: ['user'], help: 'erase people', load: async () => (await import('./operation/cli/user.ts')).userCommands },
  {
    names: ['event'],
    help: 'the names of tracked events',
    load: async () => (await import('./operation/cli/event.ts')).eventCommands,
  },
  { names: ['property'], help: 'the keys that an app knows, and their types', load: () => operations('property') },
  {
    names: ['webhook'],
    help: 'webhooks: requests that tell your server what happened',
    load: () => operations('webhook'),
  },
  {
    names: ['identify-secret'],
    help: 'the secret that proves the user of a device',
    load: async () => [
      ...(await import('./operation/cli/identify-secret.ts')).identifySecretCommands,
      ...(await operations('identify-secret')),
    ],
  },
  { names: ['explain'], load: () => operations('explain') },
  { names: ['export'], load: async () => (await import('./operation/cli/export.ts')).addExportCommands },
  { names: ['seed'], load: async () => (await import('./operation/cli/seed.ts')).seedCommands },
  { names: ['import'], load: async () => (await import('./operation/cli/import.ts')).importCommands },
  { names: ['sandbox'], load: async () => (await import('./operation/cli/sandbox.ts')).addSandboxCommand },
  { names: ['doctor'], load: async () => (await import('./operation/cli/doctor.ts')).doctorCommands },
  { names: ['backup', 'restore'], load: async () => (await import('./operation/cli/backup.ts')).backupCommands },
  {
    names: ['reports'],
    help: 'the stored sums of reports',
    load: async () => (await import('./operation/cli/reports.ts')).reportsCommands,
  },
  {
    names: ['seal'],
    help: 'the key that secrets are sealed with',
    load: async () => (await import('./operation/cli/seal.ts')).sealCommands,
  },
  {
    names: ['receipt-key'],
    help: 'the key that signs receipt tokens and click links',
    load: async () => (await import('./operation/cli/receipt-key.ts')).receiptKeyCommands,
  },
  { names: ['audit'], load: async () => (await import('./operation/cli/audit.ts')).auditCommands },
  {
    names: ['owner'],
    help: 'links that let a person into the console',
    load: async () => (await import('./operation/cli/owner.ts')).ownerCommands,
  },
  {
    names: ['token'],
    help: "operator tokens, for scripts that use the console's API",
    load: () => operations('token'),
  },
];

async function loadStart(): Promise<(program: Command) => void> {
  const { addStartCommand } = await import('./operation/cli/start.ts');
  return (program) =>
    addStartCommand(program, async (config, options) =>
      (await import('./operation/process/supervisor.ts')).runStart(config, options),
    );
}

async function buildProgram(program: Command, argv: readonly string[]): Promise<Command> {
  program
    .description('One API that rings every device: a self-hosted push notification service.')
    .exitOverride()
    // Nothing is printed here, because `main` prints every error on one line.
    .configureOutput({ writeErr: () => undefined })
    .version(readVersion(), '-V, --version', 'print the version');
  const [word = ''] = argv;
  const named = groups.filter(({ names }) => names.includes(word));
  // The help and a word that nobody knows name all commands.
  for (const { load, help } of named.length > 0 ? named : groups) {
    const adds = await load();
    if (typeof adds === 'function') adds(program);
    else for (const form of adds) addCommand(program, form, help);
  }
  for (const command of [program, ...program.commands]) {
    if (command.commands.length > 0) command.helpCommand('help [COMMAND]', 'print this, or the help of a command');
  }
  return program;
}

/** Runs one command and resolves with its exit status. */
async function main(argv: readonly string[]): Promise<number> {
  const program = new Command('carillon');
  try {
    await (await buildProgram(program, argv)).parseAsync([...argv], { from: 'user' });
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
    process.stderr.write(`carillon: ${inOneLine(explain(error, program, argv))}\n`);
    return 1;
  }
}

function explain(error: unknown, program: Command, [word]: readonly string[]): string {
  if (error instanceof CommanderError) {
    if (error.code !== 'commander.help') return error.message.replace(/^error: /, '');
    // A group such as `app` alone is no command.
    const group = program.commands.find((each) => each.name() === word) ?? program;
    return `Say what to do: ${group.commands.map((each) => each.name()).join(', ')} (or --help)`;
  }
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
