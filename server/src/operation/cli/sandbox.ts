// `sandbox`: runs push services and simulated browsers on this machine, as a process of its own.
// The sandbox shares no code with the service, so that each can prove the other wrong. A command
// after `--` runs beside the sandbox, in an environment that directs its pushes there.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { z } from 'zod';
import { loadConfig, processEnvironment } from '../../config.ts';
import { installed } from '../../ground/install.ts';
import { loadCommandConfig } from '../process/service-place.ts';
import { type AnswerOptions, CommandError, note } from './answer.ts';
import { wholeNumber } from './command.ts';
import { runCommandGroup, untilEnded } from './command-group.ts';

const addressesSchema = z.object({ inbox: z.string(), environment: z.record(z.string(), z.string()) });

// A checkout has the sandbox beside the service. An installed sandbox is found like every other
// package.
const besides = installed('sandbox/bin/sandbox.mjs');

export function addCommands(program: Command): void {
  program
    .command('sandbox')
    .argument('[COMMAND...]', 'after --: a command to run beside it, with settings that send its pushes here')
    .description('run push services with simulated browsers, and their inbox')
    .option(
      '--port <PORT>',
      'where the inbox is; 0: any free ports, for the push services too',
      wholeNumber('--port', 0, 65_535),
      8090,
    )
    .option('--json', 'print one JSON document')
    .action((command: string[], options: AnswerOptions & { port: number }) => runSandbox(command, options));
}

async function runSandbox(command: readonly string[], { port, json }: AnswerOptions & { port: number }): Promise<void> {
  const { dataDir, publicUrl: lastAddress } = loadCommandConfig();
  // A command beside the sandbox is a service that starts now, with the address of its environment.
  const publicUrl = command.length > 0 ? loadConfig().publicUrl : lastAddress;
  const parameters = ['--port', String(port), '--data-dir', join(dataDir, 'sandbox')];
  // Port 0 lets the system choose the inbox's port, and then also the ports of the push services.
  if (port === 0) parameters.push('--push-port', '0');
  // The simulated browsers send their receipts to this address.
  if (publicUrl !== null) parameters.push('--receipts', publicUrl);
  const code =
    command.length > 0
      ? await runBeside(parameters, command)
      : await runAlone([...parameters, ...(json ? ['--json'] : [])]);
  // The failed process has printed the reason.
  process.exitCode = code === 0 ? 0 : 1;
}

/**
 * Runs the sandbox for as long as the command runs, and resolves with the command's exit status.
 * Resolves with 1 where the sandbox does not start.
 */
async function runBeside(parameters: readonly string[], command: readonly string[]): Promise<number | null> {
  // The sandbox gets a process group of its own, because after Ctrl-C the command still sends what
  // it has begun.
  const sandbox = spawn(process.execPath, [findProgram(), ...parameters, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const ended = new Promise<null>((resolve) => sandbox.on('exit', () => resolve(null)));
  const first = new Promise<string>((resolve) => createInterface({ input: sandbox.stdout }).once('line', resolve));
  const line = await Promise.race([first, ended]);
  if (line === null) return 1;
  const { inbox, environment } = addressesSchema.parse(JSON.parse(line));
  note(`The inbox of simulated devices is on ${inbox}; it ends with '${command.join(' ')}'.`);
  try {
    return await runCommandGroup(command, { ...processEnvironment(), ...environment });
  } finally {
    sandbox.kill('SIGTERM');
    await ended;
  }
}

/**
 * Resolves with the sandbox's exit status. Passes signals on, because a supervisor's SIGTERM
 * reaches only this process.
 */
async function runAlone(parameters: readonly string[]): Promise<number | null> {
  const sandbox = spawn(process.execPath, [findProgram(), ...parameters], { stdio: 'inherit' });
  const pass = (signal: NodeJS.Signals): void => void sandbox.kill(signal);
  process.on('SIGTERM', pass);
  process.on('SIGINT', pass);
  try {
    return await untilEnded(sandbox);
  } finally {
    process.off('SIGTERM', pass);
    process.off('SIGINT', pass);
  }
}

function findProgram(): string {
  if (existsSync(besides)) return besides;
  try {
    return fileURLToPath(import.meta.resolve('@carillon/sandbox/bin/sandbox.mjs'));
  } catch {
    throw new CommandError('The sandbox is not installed: it is the package @carillon/sandbox');
  }
}
