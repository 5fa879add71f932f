// `sandbox`: push services and simulated browsers on this machine, as a process of its own. It shares no code with the service,
// so that each can prove the other wrong.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { loadCommandConfig } from '../service-place.ts';
import { type AnswerOptions, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';
import { wholeNumber } from './whole-number.ts';

// In the repository it stands beside the service; installed, it is found as any package is.
const besides = fileURLToPath(new URL('../../../sandbox/bin/sandbox.mjs', import.meta.url));

export function addSandboxCommand(program: Command): void {
  withJson(program.command('sandbox'))
    .description('run push services with simulated browsers, and their inbox')
    .option(
      '--port <PORT>',
      'where the inbox is; 0: any free ports, for the push services too',
      wholeNumber('--port', 0, 65_535),
      8090,
    )
    .action((options: AnswerOptions & { port: number }) => runSandbox(options));
}

async function runSandbox({ port, json }: AnswerOptions & { port: number }): Promise<void> {
  const { dataDir, publicUrl } = loadCommandConfig();
  const parameters = ['--port', String(port), '--data-dir', join(dataDir, 'sandbox')];
  // Whoever lets the system choose one port wants no fixed ones beside it.
  if (port === 0) parameters.push('--push-port', '0');
  // Its browsers tell this service what became of a push.
  if (publicUrl !== null) parameters.push('--receipts', publicUrl);
  if (json) parameters.push('--json');
  const child = spawn(process.execPath, [findProgram(), ...parameters], { stdio: 'inherit' });
  // A terminal's Ctrl-C reaches both; a supervisor's SIGTERM only this process.
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on('SIGINT', pass);
  process.on('SIGTERM', pass);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', resolve);
  });
  // It said itself why, in one line.
  process.exitCode = code === 0 ? 0 : 1;
}

function findProgram(): string {
  if (existsSync(besides)) return besides;
  try {
    return fileURLToPath(import.meta.resolve('@carillon/sandbox/bin/sandbox.mjs'));
  } catch {
    throw new CommandError('The sandbox is not installed: it is the package @carillon/sandbox');
  }
}
