// five nodes migrate a schema at once, and the migrating commands are killed inside a
// migration or at any instant.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPool, type Sql } from '@carillon/postgres';
import { carillon, runCommand } from '../../../rig/src/command.ts';
import { describeSchema } from '../../../rig/src/describe-schema.ts';
import { armedWith, listFired } from '../../../rig/src/failpoints.ts';
import { findFreePort } from '../../../rig/src/ports.ts';
import { createRandom } from '../../../rig/src/random.ts';
import { type RunDatabase, startRunDatabase } from '../../../rig/src/run-database.ts';
import { startNode } from '../../../rig/src/service-node.ts';
import { plainEnvironment, repository } from '../../../rig/src/workbench.ts';
import { listMigrations } from '../../../server/src/ground/database/migrations.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';

const nodesAtOnce = 5;
const schemaFile = join(repository, 'server/migrations/schema.sql');

interface Empty {
  readonly environment: Readonly<Record<string, string>>;
  readonly sql: Sql;
}

async function withEmptyDatabase(
  database: RunDatabase,
  name: string,
  use: (empty: Empty) => Promise<void>,
): Promise<void> {
  await database.admin.unsafe(`CREATE DATABASE ${name} OWNER ${new URL(database.url).username}`);
  const url = new URL(database.url);
  url.pathname = `/${name}`;
  const sql = openPool({ url: url.href, connectionsMax: 2, name: 'carillon proof', statementTimeoutMs: 60_000 });
  try {
    await use({ environment: { ...database.environment, DATABASE_URL: url.href }, sql });
  } finally {
    await sql.end({ timeout: 1 });
    await database.admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
  }
}

/** Complaints about the final state of a database. */
async function look({ sql }: Empty, schema: string, wanted: number): Promise<string[]> {
  const rows = await sql<{ number: number }[]>`SELECT number FROM schema_migrations`;
  const complaints = rows.length === wanted ? [] : [`${rows.length} migrations are noted, of ${wanted}`];
  if ((await describeSchema(sql)) !== schema) complaints.push('the schema is another than schema.sql');
  return complaints;
}

async function noted(sql: Sql): Promise<number> {
  const [table] = await sql<{ exists: boolean }[]>`SELECT to_regclass('schema_migrations') IS NOT NULL AS exists`;
  if (!table?.exists) return 0;
  const [row] = await sql<{ many: number }[]>`SELECT count(*)::int AS many FROM schema_migrations`;
  return row?.many ?? 0;
}

/** Kills the command `delayMs` after its first migration is stored. */
async function killAfter({ environment, sql }: Empty, directory: string, delayMs: number): Promise<void> {
  const child = spawn(process.execPath, [carillon, 'migrate'], {
    cwd: directory,
    env: { ...plainEnvironment(), ...environment },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  while (child.exitCode === null && (await noted(sql)) === 0) await sleep(5);
  await sleep(delayMs);
  child.kill('SIGKILL');
  await ended;
}

async function run({ isQuick, seed, report, workbench }: ProofOptions): Promise<void> {
  const kills = isQuick ? 4 : 50;
  const random = createRandom(seed);
  const directory = await workbench.makeDirectory('migrations');
  const database = await startRunDatabase(workbench);
  const schema = await readFile(schemaFile, 'utf8');
  const wanted = (await listMigrations()).length;

  const atOnce: string[] = [];
  await withEmptyDatabase(database, 'at_once', async (empty) => {
    const start = async (i: number): Promise<() => Promise<unknown>> => {
      const environment = { ...empty.environment, PORT: String(await findFreePort()) };
      const node = await startNode(workbench, { name: `node-${i}`, role: 'api', environment, directory });
      await node.ready();
      return () => node.terminate();
    };
    const ends = await Promise.all(Array.from({ length: nodesAtOnce }, (_, i) => start(i)));
    atOnce.push(...(await look(empty, schema, wanted)));
    await Promise.all(ends.map((end) => end()));
  });
  report.claim('nodes that start at once on an empty database run each migration once', `${nodesAtOnce} nodes`, atOnce);

  const complaints: string[] = [];
  const doneBefore: number[] = [];
  for (let kill = 0; kill < kills; kill++) {
    await withEmptyDatabase(database, `kill_${kill}`, async (empty) => {
      if (kill % 2 === 0) {
        const failpoints = join(directory, `failpoints-${kill}`);
        const hit = 1 + random.below(wanted);
        const armed = await armedWith({ directory: failpoints, rules: [{ name: 'migrate.mid', hit, action: 'kill' }] });
        const told = { ...empty.environment, ...armed.environment, NODE_OPTIONS: armed.nodeOptions.join(' ') };
        await runCommand(told, directory, 'migrate').catch(() => undefined);
        if ((await listFired({ directory: failpoints })).length !== 1)
          complaints.push(`kill ${kill} did not take place`);
      } else await killAfter(empty, directory, random.below(150));
      doneBefore.push(await noted(empty.sql));
      await runCommand(empty.environment, directory, 'migrate');
      complaints.push(...(await look(empty, schema, wanted)).map((each) => `kill ${kill}: ${each}`));
    });
  }
  const halfway = doneBefore.filter((many) => many < wanted).length;
  if (halfway < kills / 2) complaints.push(`only ${halfway} kills were before the end`);
  report.claim(
    'killed inside a migration or at any instant, and run again, it completes',
    `${kills} kills, ${halfway} of them before the end`,
    complaints,
  );
}

export const requirement: Requirement = {
  number: 'R-93',
  title: 'Migrations',
  leftOut: 'runs all migrations from the beginning for each kill, and at five nodes at once',
  run,
};
