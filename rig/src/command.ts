// Runs one command of the built command line and returns the JSON that it prints.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { plainEnvironment, RunError, repository } from './workbench.ts';

export const carillon = join(repository, 'server/bin/carillon.mjs');

/** Rejects with the command's own words when its exit code is not 0. */
export async function runCommand<Json>(
  environment: Readonly<Record<string, string>>,
  workingDir: string,
  ...parameters: readonly string[]
): Promise<Json> {
  const child = spawn(process.execPath, [carillon, ...parameters, '--json'], {
    cwd: workingDir,
    env: { ...plainEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let words = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    words += chunk;
  });
  const [status] = await once(child, 'close');
  if (status !== 0) throw new RunError(`carillon ${parameters.join(' ')}: ${words.trim()}`);
  return JSON.parse(output) as Json;
}
