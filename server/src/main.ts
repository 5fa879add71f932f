// The entry of the command line: reads the arguments, runs one command, and says in one line why it
// failed.

import { isDatabaseDown } from '@carillon/postgres';
import { Command, CommanderError } from 'commander';
import { describeDatabaseError } from './ground/database/describe-database-error.ts';
import { readVersion } from './ground/host/program-name.ts';
import { ApiError } from './ground/http/api-error.ts';
import { CommandError } from './operation/cli/answer.ts';
import { addCommand, type CommandForm } from './operation/cli/command.ts';
import { isBeingStopped } from './operation/cli/stop-signals.ts';
import { loadCommandConfig } from './operation/process/service-place.ts';

type Commands = { readonly commands: readonly CommandForm[] } | { addCommands(program: Command): void };

interface Group {
  /** The first words of its commands. */
  readonly names: readonly string[];
  /** Its help, where its commands have two words. */
  readonly help?: string;
  /** Loads its own commands. Absent: all of them call an operation of the console's API. */
  load?(): Promise<Commands>;
  /** Whether some of its commands call an operation, beside its own. */
  readonly operates?: boolean;
}

/**
 * In the order of the help. Only the group of the given word is loaded, because loading modules is
 * most of a start.
 */
const groups: readonly Group[] = [
  { names: ['start'], load: () => import('./operation/cli/start.ts') },
  { names: ['migrate'], load: () => import('./operation/cli/migrate.ts') },
  { names: ['pause', 'resume'] },
  {
    names: ['app'],
    help: 'apps, their plans and their suspension',
    load: () => import('./operation/cli/app.ts'),
    operates: true,
  },
  { names: ['key'], help: 'API keys' },
  {
    names: ['channel'],
    help: 'provider credentials of an app',
    load: () => import('./operation/cli/channel.ts'),
    operates: true,
  },
  {
    names: ['device'],
    help: 'undo what strangers did with a client key',
    load: () => import('./operation/cli/delete.ts'),
  },
  { names: ['user'], help: 'erase people', load: () => import('./operation/cli/delete.ts') },
  { names: ['event'], help: 'the names of tracked events', load: () => import('./operation/cli/delete.ts') },
  { names: ['property'], help: 'the keys that an app knows, and their types' },
  { names: ['webhook'], help: 'webhooks: requests that tell your server what happened' },
  {
    names: ['identify-secret'],
    help: 'the secret that proves the user of a device',
    load: () => import('./operation/cli/identify-secret.ts'),
    operates: true,
  },
  { names: ['explain'] },
  { names: ['export'], load: () => import('./operation/cli/export.ts') },
  { names: ['seed'], load: () => import('./operation/cli/seed.ts') },
  { names: ['import'], load: () => import('./operation/cli/import.ts') },
  { names: ['sandbox'], load: () => import('./operation/cli/sandbox.ts') },
  { names: ['doctor'], load: () => import('./operation/cli/doctor.ts') },
  { names: ['backup', 'restore'], load: () => import('./operation/cli/backup.ts') },
  { names: ['reports'], help: 'the stored sums of reports', load: () => import('./operation/cli/reports.ts') },
  { names: ['seal'], help: 'the key that secrets are sealed with', load: () => import('./operation/cli/seal.ts') },
  {
    names: ['receipt-key'],
    help: 'the key that signs receipt tokens and click links',
    load: () => import('./operation/cli/seal.ts'),
  },
  { names: ['audit'], load: () => import('./operation/cli/audit.ts') },
  {
    names: ['owner'],
    help: 'links that let a person into the console',
    load: () => import('./operation/cli/owner.ts'),
  },
  { names: ['token'], help: "operator tokens, for scripts that use the console's API" },
];

/** Adds the commands of a group: its own, and those that call an operation. */
async function addGroup(program: Command, { names, help, load, operates = !load }: Group): Promise<void> {
  const loaded = await load?.();
  if (loaded && 'addCommands' in loaded) return loaded.addCommands(program);
  const of = operates ? (await import('./operation/cli/operations.ts')).operationCommands : async () => [];
  const others = (await Promise.all(names.map(of))).flat();
  for (const form of [...(loaded?.commands ?? []), ...others]) {
    if (names.includes(form.form.split(' ')[0] ?? '')) addCommand(program, form, help);
  }
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
  for (const group of named.length > 0 ? named : groups) await addGroup(program, group);
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
