// R-101: nobody reads what the program prints, or there is no room for it. The work goes on.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { expect, it } from 'vitest';
import { programArguments, setupCommandLine } from './run-carillon.ts';

const t = await setupCommandLine();

/** Starts a command whose standard output and error are a full disk, or pipes without a reader. */
function begin(where: 'full' | 'gone' | 'unread', ...parameters: string[]) {
  const full = where === 'full' ? openSync('/dev/full', 'w') : 'pipe';
  const child = spawn(process.execPath, programArguments(...parameters), {
    cwd: t.directory,
    env: { ...t.environment, PORT: '0', WORKERS: '1', LOG_LEVEL: 'trace' },
    stdio: ['ignore', full, full],
  });
  if (where === 'gone') for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  return child;
}

const places = (['gone', 'unread', 'full'] as const).filter((where) => where !== 'full' || existsSync('/dev/full'));

it.each(places)('R-101 a service runs and stops in order where its output is %s', async (where) => {
  const child = begin(where, 'start');
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
    const child = begin(where, 'app', 'create', `App ${where}`);
    expect(await once(child, 'exit')).toEqual([where === 'full' ? 1 : 0, null]);
    expect(await t.sql`SELECT name FROM apps WHERE name = ${`App ${where}`}`).toHaveLength(1);
  },
);
