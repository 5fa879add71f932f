// Runs the command line as an operator does: as a process of its own, configured by its
// environment.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Sql } from '@carillon/postgres';
import { createTestDatabase } from '../../../packages/postgres/test/database.ts';
import { whenDone } from '../../../rig/src/when-done.ts';
import { createClock, type SettableClock } from '../../src/ground/database/clock.ts';
import { encodeId } from '../../src/ground/values/ids.ts';
import { createApp, type NewApp } from '../../src/teams/apps/create-app.ts';
import type { Actor } from '../../src/teams/audit/actor.ts';
import { tester } from '../tester.ts';

/** The built program. The global set-up builds it. */
const mainProgram = fileURLToPath(new URL('../../dist/program/main.js', import.meta.url));

export interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as one JSON document. Throws when it is anything else. */
  readonly json: ReturnType<typeof JSON.parse>;
}

/** `json` is read by a test alone: a matcher that compares a run does not see it. */
class EndedRun implements Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;

  constructor(status: number | null, stdout: string, stderr: string) {
    this.status = status;
    this.stdout = stdout;
    this.stderr = stderr;
  }

  get json(): Run['json'] {
    try {
      return JSON.parse(this.stdout);
    } catch {
      throw new Error(`the command ended with ${this.status} and printed no JSON: ${this.stdout}${this.stderr}`);
    }
  }
}

export interface MadeApp extends NewApp {
  /** The public id, `app_…`; `id` is the stored form. */
  readonly publicId: string;
}

export interface CommandLine {
  readonly url: string;
  readonly sql: Sql;
  readonly clock: SettableClock;
  /** The actor of changes that a test makes without a command. */
  readonly by: Actor;
  /** A directory for this test file, which is also the commands' working directory. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Everything that this test file's commands have printed, on both streams. */
  readonly printed: string[];
  run(...parameters: string[]): Promise<Run>;
  runWith(environment: Record<string, string>, ...parameters: string[]): Promise<Run>;
  /** Runs with `--json`, expects success and returns the document. */
  json(...parameters: string[]): Promise<Run['json']>;
  /** Makes an app without a command. */
  newApp(name: string): Promise<MadeApp>;
  /** Starts the service with one worker on any port, and ends it with the test. */
  start(environment?: Record<string, string>): RunningService;
}

export interface RunningService {
  readonly pid: number;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  hasEnded(): boolean;
  /** The JSON document that the service prints once it answers. */
  document(): Promise<ReturnType<typeof JSON.parse>>;
  /** The log's lines so far. */
  readonly log: readonly Record<string, unknown>[];
  /** The pids of the service's processes. */
  children(): number[];
  signal(signal: NodeJS.Signals): void;
}

/** The arguments that run the command line. */
export function programArguments(...parameters: string[]): string[] {
  return [mainProgram, ...parameters];
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
    // The default port may be taken on a developer's machine.
    PORT: '0',
    // The server of the tests runs without fsync.
    ALLOW_UNSAFE_POSTGRES: '1',
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
    return new EndedRun(status, stdout, stderr);
  };
  const run = (...parameters: string[]): Promise<Run> => runWith({}, ...parameters);
  return {
    url,
    sql,
    clock,
    by: tester,
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
    start: (more = {}) => startService(directory, { ...environment, LOG_LEVEL: 'info', PORT: '0', ...more }),
    async newApp(name) {
      const made = await createApp({ sql, clock, by: tester }, { name, plan: 'free' });
      return { ...made, publicId: encodeId('app', made.id) };
    },
  };
}

function startService(cwd: string, env: Record<string, string>): RunningService {
  const child = spawn(process.execPath, programArguments('start', '--workers', '1', '--json'), {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.on('exit', (code, signal) => resolve({ code, signal }));
  });
  whenDone(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const log: Record<string, unknown>[] = [];
  createInterface(child.stderr).on('line', (line) => {
    log.push(line.startsWith('{') ? JSON.parse(line) : { text: line });
  });
  return {
    pid: child.pid ?? 0,
    ended,
    log,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    async document() {
      let text = '';
      for await (const chunk of child.stdout) {
        text += chunk;
        try {
          return JSON.parse(text);
        } catch {}
      }
      throw new Error(`the service ended: ${text} ${JSON.stringify(log)}`);
    },
    children() {
      const list = execFileSync('ps', ['-ax', '-o', 'pid=,ppid=,command='], { encoding: 'utf8' });
      return list.split('\n').flatMap((line) => {
        const [pid, parent, ...command] = line.trim().split(/\s+/);
        return Number(parent) === child.pid && /\/program\/child\.js/.test(command.join(' ')) ? [Number(pid)] : [];
      });
    },
    signal: (signal) => void child.kill(signal),
  };
}

/** The result of a refused command: no standard output, one line on standard error, status 1. */
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
