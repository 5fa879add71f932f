// Writes server/migrations/schema.sql, the result of the migrations, for people to read. `--write`
// writes it; a test compares it.
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPool, startEmbeddedPostgres } from '@carillon/postgres';
import { describeSchema } from '../rig/src/describe-schema.ts';
import { migrate } from '../server/src/ground/database/migrations.ts';

const dataDir = await mkdtemp(join(tmpdir(), 'carillon-schema-'));
await chmod(dataDir, 0o755);
const database = await startEmbeddedPostgres({ dataDir, log: () => undefined });
const sql = openPool({ url: database.url, connectionsMax: 2, name: 'schema', statementTimeoutMs: 60_000 });
await migrate(sql);
const text = await describeSchema(sql);
await sql.end();
await database.stop();
await rm(database.clusterDir, { recursive: true, force: true });
await rm(dataDir, { recursive: true, force: true });

if (process.argv.includes('--write')) {
  await writeFile(new URL('../server/migrations/schema.sql', import.meta.url), text);
} else process.stdout.write(text);
