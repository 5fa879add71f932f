// R-101: nobody reads what the program prints, or there is no room for it. The work goes on.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { findFreePort } from '../../../rig/src/ports.ts';
import { programArguments, setupCommandLine } from './run-carillon.ts';

const t = await setupCommandLine();

/** Starts a command whose standard output and error are a full disk, or pipes without a reader. */
function begin(where: 'full' | 'gone' | 'unread', parameters: string[], environment: Record<string, string> = {}) {
  const full = where === 'full' ? openSync('/dev/full', 'w') : 'pipe';
  const child = spawn(process.execPath, programArguments(...parameters), {
    cwd: t.directory,
    env: { ...t.environment, PORT: '0', WORKERS: '1', LOG_LEVEL: 'trace', ...environment },
    stdio: ['ignore', full, full],
  });
  if (where === 'gone') for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  return child;
}

const places = (['gone', 'unread', 'full'] as const).filter((where) => where !== 'full' || existsSync('/dev/full'));

/** A setting with which each process that the supervisor starts runs `program` first. */
function firstInEachProcess(program: string): Record<string, string> {
  const guarded = `import { writeSync } from 'node:fs'; if (process.send) { ${program} }`;
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(guarded)}` };
}

/** More than a pipe holds. */
const talk = `for (let n = 0; n < 4000; n++) process.stderr.write('x'.repeat(999) + '\\n');`;

it.each(places)('R-101 a service that says much runs and stops in order where its output is %s', async (where) => {
  const child = begin(where, ['start'], firstInEachProcess(talk));
  const ended = once(child, 'exit');
  const connections = () => t.sql`SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'carillon%' AND application_name <> 'carillon start'`;
  while ((await connections()).length < 2 && child.exitCode === null);
  expect(child.exitCode).toBeNull();
  child.kill('SIGINT');
  expect(await ended).toEqual([0, null]);
});

it.each(places.filter((where) => where !== 'unread'))(
  'R-101 a command does its work where its output is %s, and fails only if its answer is lost on a full disk',
  async (where) => {
    const child = begin(where, ['app', 'create', `App ${where}`]);
    expect(await once(child, 'exit')).toEqual([where === 'full' ? 1 : 0, null]);
    expect(await t.sql`SELECT name FROM apps WHERE name = ${`App ${where}`}`).toHaveLength(1);
  },
);

async function readMetric(port: number, series: string): Promise<number | undefined> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined);
  const line = (await answer?.text())?.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

it('R-101 lines of its processes that nobody reads are counted, and told once somebody does', async () => {
  const port = await findFreePort();
  const child = begin('unread', ['start'], { METRICS_PORT: String(port), ...firstInEachProcess(talk) });
  const ended = once(child, 'exit');
  while (!(await readMetric(port, 'carillon_log_lines_dropped_total{process="supervisor"}')));
  let log = '';
  child.stderr?.on('data', (piece) => {
    log += piece;
  });
  while (!log.includes('were dropped')) await new Promise(setImmediate);
  const told = log.split('\n').find((line) => line.includes('were dropped')) ?? '';
  expect(JSON.parse(told)).toMatchObject({ role: 'supervisor', dropped: expect.any(Number) });
  child.kill('SIGINT');
  expect(await ended).toEqual([0, null]);
});

it('R-101 collectors that ask for metrics and never read the answer hold up nothing, also not the end', async () => {
  const port = await findFreePort();
  const child = begin('unread', ['start'], { METRICS_PORT: String(port) });
  const ended = once(child, 'exit');
  const uptime = 'carillon_process_start_time_seconds{process="supervisor"}';
  while ((await readMetric(port, uptime)) === undefined && child.exitCode === null);
  const collectors = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      await once(socket, 'connect');
      socket.pause();
      // Half of them never end what they ask for; the others ask for far more than a socket holds.
      socket.write(
        n % 2 ? 'GET /metrics HTTP/1.1\r\nHost: x\r\n' : 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(200),
      );
      return socket;
    }),
  );
  for (let time = 0; time < 3; time++) expect(await readMetric(port, uptime)).toBeGreaterThan(0);
  child.kill('SIGINT');
  expect(await ended).toEqual([0, null]);
  for (const socket of collectors) socket.destroy();
});

it('R-101 what a process says as it crashes reaches standard error', async () => {
  const crash = `writeSync(2, 'its last words'); process.kill(process.pid, 'SIGKILL');`;
  const { status, stderr } = await t.runWith(firstInEachProcess(crash), 'start');
  expect(status).toBe(1);
  expect(stderr).toContain('its last words\n');
});
