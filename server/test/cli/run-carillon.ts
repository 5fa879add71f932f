// Runs the command line as an operator does: a process of its own, told where things are by its environment.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createApp, type NewApp } from '../../src/apps/create-app.ts';
import { createClock, type SettableClock } from '../../src/platform/clock.ts';
import type { Sql } from '../../src/platform/db.ts';
import { encodeId } from '../../src/platform/ids.ts';
import { createTestDatabase, whenDone } from '../database.ts';

export const mainProgram = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const loader = import.meta.resolve('tsx');

export interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as one JSON document. Throws when it is anything else. */
  readonly json: ReturnType<typeof JSON.parse>;
}

export interface MadeApp extends NewApp {
  /** `app_…`; beside it `id` as it is stored. */
  readonly publicId: string;
}

export interface CommandLine {
  readonly url: string;
  readonly sql: Sql;
  readonly clock: SettableClock;
  /** A directory of this test file's own, which is also the commands' working directory. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Everything that the commands of this test file have printed, on both streams. */
  readonly printed: string[];
  run(...parameters: string[]): Promise<Run>;
  runWith(environment: Record<string, string>, ...parameters: string[]): Promise<Run>;
  /** Runs with `--json`, expects success and returns the document. */
  json(...parameters: string[]): Promise<Run['json']>;
  /** An app made without a command. */
  newApp(name: string): Promise<MadeApp>;
}

/** The arguments that run the command line from its sources. */
export function programArguments(...parameters: string[]): string[] {
  return ['--import', loader, mainProgram, ...parameters];
}

export async function setupCommandLine(): Promise<CommandLine> {
  const { url, sql } = await createTestDatabase();
  const clock = await createClock(sql);
  const directory = mkdtempSync(join(tmpdir(), 'carillon-cli-'));
  whenDone(async () => rmSync(directory, { recursive: true, force: true }));
  const environment = {
    PATH: process.env['PATH'] ?? '',
    DATABASE_URL: url,
    MASTER_KEY: randomBytes(32).toString('base64'),
    LOG_LEVEL: 'silent',
  };
  const printed: string[] = [];

  const runWith = async (more: Record<string, string>, ...parameters: string[]): Promise<Run> => {
    const child = spawn(process.execPath, programArguments(...parameters), {
      cwd: directory,
      env: { ...environment, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk));
    const status = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    printed.push(stdout, stderr);
    return {
      status,
      stdout,
      stderr,
      get json() {
        return JSON.parse(stdout);
      },
    };
  };
  const run = (...parameters: string[]): Promise<Run> => runWith({}, ...parameters);
  return {
    url,
    sql,
    clock,
    directory,
    environment,
    printed,
    run,
    runWith,
    async json(...parameters) {
      const done = await run(...parameters, '--json');
      if (done.status !== 0) throw new Error(`carillon ${parameters.join(' ')} failed: ${done.stderr}`);
      return done.json;
    },
    async newApp(name) {
      const made = await createApp({ sql, clock }, { name, plan: 'free', createdBy: 'test' });
      return { ...made, publicId: encodeId('app', made.id) };
    },
  };
}

/** How a refused command looks: nothing on standard output, one line on the other, status 1. */
export function refusal(line: RegExp) {
  return {
    status: 1,
    stdout: '',
    stderr: expectOneLine(line),
  };
}

function expectOneLine(line: RegExp): { asymmetricMatch(text: unknown): boolean } {
  return {
    asymmetricMatch: (text) =>
      typeof text === 'string' && /^carillon: [^\n]+\n$/.test(text) && line.test(text.slice('carillon: '.length, -1)),
  };
}
