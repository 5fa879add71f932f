// The procedure of docs/backup.md: a backup made during a send, restored in another place.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type EmbeddedDatabase, openPool, startEmbeddedPostgres } from '@carillon/postgres';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { describe, expect, it } from 'vitest';
import type { TestDatabase } from '../../packages/postgres/test/database.ts';
import { whenDone } from '../../rig/src/when-done.ts';
import { findPause, resume } from '../src/ground/database/restore-guard.ts';
import { backUp } from '../src/operation/backup/backup.ts';
import { asBackupError } from '../src/operation/backup/backup-file.ts';
import { prepareDatabase } from '../src/operation/process/prepare-database.ts';
import { createService } from '../src/operation/process/service.ts';
import { programArguments, refusal, setupCommandLine } from './cli/run-carillon.ts';
import { accept } from './push-service.ts';
import { type Bundle, setup } from './setup.ts';

const cli = await setupCommandLine();
const content = { title: 'Sale' };

const home = await mkdtemp(join(tmpdir(), 'carillon-backup-'));
await chmod(home, 0o755);
const embedded: EmbeddedDatabase[] = [];
whenDone(async () => {
  for (const each of embedded) {
    await each.stop();
    await rm(each.clusterDir, { recursive: true, force: true });
  }
  await rm(home, { recursive: true, force: true });
});

async function openDatabase(dataDir: string): Promise<TestDatabase & Pick<EmbeddedDatabase, 'adminUrl'>> {
  const server = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  embedded.push(server);
  const sql = openPool({ url: server.url, connectionsMax: 4, name: 'tests', statementTimeoutMs: 60_000 });
  whenDone(() => sql.end({ timeout: 1 }));
  return { url: server.url, adminUrl: server.adminUrl, sql };
}

/** Runs a command on a data directory of its own. */
const runIn = (dataDir: string, ...parameters: string[]) =>
  cli.runWith({ DATABASE_URL: '', MASTER_KEY: '', DATA_DIR: dataDir }, ...parameters);

const masterKey = (): string => readFileSync(join(dataDir, 'master.key'), 'utf8');

/** A restore by an operator who has the backup's master key. */
const restoreIn = (place: string, ...parameters: string[]) =>
  cli.runWith({ DATABASE_URL: '', MASTER_KEY: masterKey(), DATA_DIR: place }, 'restore', ...parameters);

const filesIn = (dir: string): Promise<string[]> => readdir(dir).catch(() => []);

const countsOf = async ({ sql }: TestDatabase) => {
  const [counts] = await sql`
    SELECT (SELECT count(*) FROM devices) AS devices, (SELECT count(*) FROM audience) AS audience,
      (SELECT count(*) FROM apps) AS apps, (SELECT count(*) FROM messages) AS messages`;
  return counts;
};

/** The connections and slots that backups still have in the database. */
async function leftOf({ sql }: TestDatabase) {
  const [left] = await sql<{ connections: number; slots: number }[]>`
    SELECT (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'carillon backup') AS connections,
      (SELECT count(*) FROM pg_replication_slots) AS slots`;
  return left ?? { connections: -1, slots: -1 };
}

/** Whether the message's counters and its delivery rows agree. */
async function agreementOf({ sql }: TestDatabase, accepted: number) {
  const [row] = await sql<{ sent: number; rows: number; done: number; accepted: number }[]>`
    SELECT m.webpush_accepted AS accepted, m.webpush_sent AS sent,
      (SELECT count(*) FROM deliveries WHERE batch_id BETWEEN m.first_batch_id AND m.last_batch_id AND status = 1) AS rows,
      (SELECT sum(sent) FROM batches WHERE message_id = m.id) AS done
    FROM messages m WHERE m.webpush_accepted = ${accepted}`;
  return row;
}

const devices = 300;
const dataDir = join(home, 'data');
const file = join(home, 'carillon.tgz');
const database = await (async () => {
  const opened = await openDatabase(dataDir);
  await prepareDatabase(opened.sql);
  return opened;
})();

/** Answers half of a send, makes the backup, and then answers the rest. */
async function backUpDuringSend(t: Bundle) {
  const held: (() => void)[] = [];
  t.push.scriptAll((request, response, count) => {
    if (t.push.requests.length <= devices / 2) accept(request, response, count);
    else held.push(() => accept(request, response, count));
  });
  await t.registerMany(devices);
  await t.server.post('/v1/messages', { audience: { all: true }, content });
  const workers = t.service.startWorkers();
  await t.push.waitForCount(devices / 2 + 1);
  while (((await agreementOf(database, devices))?.sent ?? 0) < devices / 2);
  // Pairs of rows that are updated all the time and must always agree.
  let isDone = false;
  const writing = (async () => {
    await t.sql`CREATE TABLE pair AS SELECT id, 0 AS half, repeat('x', 500) AS filler FROM generate_series(0, 1999) AS id`;
    for (let round = 1; !isDone; round++) {
      await t.sql`UPDATE pair SET half = ${round} WHERE id % 50 = ${round % 25} OR id % 50 = ${(round % 25) + 25}`;
    }
  })();
  const done = await runIn(dataDir, 'backup', file, '--json');
  isDone = true;
  await writing;
  t.push.scriptAll(undefined);
  for (const answer of held) answer();
  await workers.idle();
  return done;
}

const made = await (async () => {
  const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' }, database });
  writeFileSync(join(dataDir, 'master.key'), t.masterKey.toString('base64'), { mode: 0o600 });
  const { status, stderr, json } = await backUpDuringSend(t);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return {
    json,
    counts: await countsOf(database),
    masterKey: t.masterKey,
    config: t.config,
    log: t.service.run.log,
    clusterDir: embedded[0]?.clusterDir ?? '',
  };
})();

describe('R-90 a backup', () => {
  it('is one file that only its owner can read, made while the service runs', async () => {
    expect(made.json).toMatchObject({
      file,
      postgres_major: '18',
      architecture: `${process.platform}-${process.arch}`,
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(file)).size).toBe(made.json.bytes);
    expect(await agreementOf(database, devices)).toMatchObject({ accepted: devices, sent: devices, rows: devices });
    expect((await readdir(home)).filter((name) => name.startsWith('carillon'))).toEqual(['carillon.tgz']);
  });

  it('contains no master key, and no runtime file of the server', async () => {
    const text = gunzipSync(readFileSync(file)).toString('latin1');
    for (const name of ['master.key', 'first-run.txt', 'postmaster.pid']) expect(text).not.toContain(`${name}\0`);
    expect(text).toContain('global/pg_control\0');
    expect(text).toContain('backup_label\0');
  });

  it('overwrites no existing file, and needs the embedded database', async () => {
    expect(await runIn(dataDir, 'backup', file)).toMatchObject(refusal(/exists already/));
    const none = join(home, 'none');
    expect(await runIn(none, 'backup', join(home, 'none.tgz'))).toMatchObject(refusal(/There is no database in/));
    expect(await cli.run('backup', join(home, 'other.tgz'))).toMatchObject(refusal(/Only the embedded database/));
    expect(await filesIn(none)).toEqual([]);
  });
});

describe('R-90 restored in another place', async () => {
  const place = join(home, 'restored');
  const { status, stderr, json } = await restoreIn(place, file, '--json');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const withoutKey = await runIn(place, 'start');
  const restored = await openDatabase(place);
  const atBackup = await agreementOf(restored, devices);

  it('has counts that agree, as of the end of the backup', async () => {
    expect(await countsOf(restored)).toEqual(made.counts);
    expect(atBackup).toEqual({
      accepted: devices,
      sent: atBackup?.rows,
      rows: atBackup?.rows,
      done: atBackup?.rows,
    });
    expect(atBackup?.rows).toBeGreaterThanOrEqual(devices / 2);
    expect(atBackup?.rows).toBeLessThan(devices);
  });

  it('contains each transaction that ran meanwhile completely, or not at all', async () => {
    const [row] = await restored.sql<{ rows: number; torn: number; rounds: number }[]>`
      SELECT count(*) AS rows, max(a.half) AS rounds, count(*) FILTER (WHERE a.half <> b.half) AS torn
      FROM pair a JOIN pair b ON b.id = CASE WHEN a.id % 50 < 25 THEN a.id + 25 ELSE a.id - 25 END`;
    expect(row).toMatchObject({ rows: 2000, torn: 0 });
    expect(row?.rounds).toBeGreaterThan(0);
  });

  it('R-92 is paused until an operator has confirmed', async () => {
    expect(json).toMatchObject({ data_dir: place, pause_reason: 'restore', paused_at: expect.stringMatching(/Z$/) });
    expect(await findPause(restored.sql)).toMatchObject({ reason: 'restore' });
  });

  it('continues the audit log with the restore', async () => {
    const rows = await restored.sql`SELECT action, actor_kind, after FROM audit_entries ORDER BY id DESC LIMIT 1`;
    expect(rows).toEqual([{ action: 'service.restore', actorKind: 'cli', after: { made_at: json.made_at } }]);
  });

  it('opens its secrets with the master key, and without it names the missing key', async () => {
    expect(withoutKey).toMatchObject(refusal(/master\.key is missing.*put it back, or set MASTER_KEY/));
    expect(await filesIn(place)).not.toContain('master.key');
    const start = (key: Buffer) =>
      createService({
        config: made.config,
        databaseUrl: restored.url,
        masterKeys: { key, previous: undefined },
        log: made.log,
      });
    await expect(start(Buffer.alloc(32, 7))).rejects.toThrow(/neither MASTER_KEY nor MASTER_KEY_PREVIOUS/);
    const service = await start(made.masterKey);
    whenDone(() => service.close());
    const [app] = await restored.sql<{ id: string }[]>`SELECT id FROM apps LIMIT 1`;
    expect([...(await service.run.credentials.open(app?.id ?? '')).values()]).toHaveLength(1);
  });

  it('R-91 R-92 sends nothing that expired meanwhile after the resume', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' }, database: restored });
    const workers = t.service.startWorkers();
    await workers.idle();
    expect(t.push.requests).toHaveLength(0);
    t.clock.advance(25 * 3_600_000);
    await resume(restored.sql);
    await t.service.pause.look();
    const [message] = await restored.sql<{ id: string }[]>`SELECT id FROM messages`;
    const isOpen = async () =>
      (await restored.sql`SELECT FROM batches WHERE message_id = ${message?.id ?? ''} AND state <> 'done'`).length > 0;
    while (await isOpen()) await workers.idle();
    expect(t.push.requests).toHaveLength(0);
    expect(await restored.sql`SELECT status, error_counts, webpush_sent AS sent FROM messages`).toEqual([
      { status: 'sent', errorCounts: { expired: devices - (atBackup?.rows ?? 0) }, sent: atBackup?.rows },
    ]);
  });
});

/** The backup with `from` replaced by `to`, without a signature. */
const rewrite = (name: string, from: string, to: string): string => {
  const path = join(home, name);
  const bytes = gunzipSync(readFileSync(file));
  const at = bytes.indexOf(from);
  expect(at).toBeGreaterThan(0);
  bytes.write(to.padEnd(from.length), at, 'latin1');
  writeFileSync(path, gzipSync(bytes, { level: 1 }));
  return path;
};

describe('R-90 restore refuses, before it writes anything,', () => {
  const cut = (left: (bytes: number) => number = (bytes) => Math.floor(bytes / 2)): string => {
    const path = join(home, 'cut.tgz');
    const bytes = readFileSync(file);
    writeFileSync(path, bytes.subarray(0, left(bytes.length)));
    return path;
  };
  const other = (): string => {
    const path = join(home, 'other.txt');
    writeFileSync(path, 'not a backup at all');
    return path;
  };
  const flipped = (): string => {
    const path = join(home, 'flipped.tgz');
    const bytes = readFileSync(file);
    const middle = Math.floor(bytes.length / 2);
    bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
    writeFileSync(path, bytes);
    return path;
  };

  it.each<[string, () => string, RegExp]>([
    [
      'another major version of PostgreSQL',
      () => rewrite('older.tgz', '"postgres_major":"18"', '"postgres_major":"17"'),
      /is of PostgreSQL 17, and this Carillon brings PostgreSQL 18: restore it with the release that made it/,
    ],
    [
      'another architecture',
      () => rewrite('foreign.tgz', `"${process.platform}-${process.arch}"`, '"sun-sparc"'),
      /was made on sun-sparc, and this is/,
    ],
    ['a file that is no backup', other, /cannot be restored|is no backup/],
    ['a file that is not there', () => join(home, 'nowhere.tgz'), /cannot be restored: ENOENT/],
    ['a file with one altered bit', flipped, /was altered after it was made.*Nothing was restored/],
  ])('%s', async (_what, fileOf, words) => {
    const place = join(home, 'refused');
    expect(await restoreIn(place, fileOf(), '--accept-unsigned')).toMatchObject(refusal(words));
    await expect(stat(place)).rejects.toThrow();
  });

  it('a data directory that is not empty, except for a master key', async () => {
    expect(await restoreIn(dataDir, file)).toMatchObject(refusal(/is not empty \(.*database/));
    const place = join(home, 'mine');
    await mkdir(place);
    writeFileSync(join(place, 'notes.txt'), 'mine');
    expect(await restoreIn(place, file)).toMatchObject(refusal(/is not empty \(notes.txt\)/));
    expect(await filesIn(place)).toEqual(['notes.txt']);
  });

  it('a file without a signature, unless the operator accepts it', async () => {
    const place = join(home, 'unsigned');
    expect(await restoreIn(place, rewrite('unsigned.tgz', 'PGDATA', 'PGDATA'))).toMatchObject(
      refusal(/has no signature.*--accept-unsigned/),
    );
    await expect(stat(place)).rejects.toThrow();
  });

  it('a file whose signature cannot be checked with the present key', async () => {
    const place = join(home, 'keyless');
    expect(await runIn(place, 'restore', file)).toMatchObject(
      refusal(/was signed with master key [0-9a-f]{8}, which checks that nobody altered it/),
    );
    const stranger = { DATABASE_URL: '', MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), DATA_DIR: place };
    expect(await cli.runWith(stranger, 'restore', file, '--accept-unsigned')).toMatchObject(
      refusal(/was signed with master key [0-9a-f]{8}, and the key given here is [0-9a-f]{8}/),
    );
    await expect(stat(place)).rejects.toThrow();
  });

  it('and leaves nothing of a truncated backup', async () => {
    const place = join(home, 'half');
    expect(await restoreIn(place, cut(), '--accept-unsigned')).toMatchObject(
      refusal(/cannot be restored: (unexpected end|it ends)/),
    );
    expect(await filesIn(place)).toEqual([]);
  });

  it.each([1, 9, 40, 60])('a backup without its last %i bytes, even when the operator accepts it', async (count) => {
    const place = join(home, 'almost');
    expect(
      await restoreIn(
        place,
        cut((bytes) => bytes - count),
        '--accept-unsigned',
      ),
    ).toMatchObject(refusal(/cannot be restored: (unexpected end|it ends)/));
    expect(await filesIn(place)).toEqual([]);
  });

  it('and leaves nothing of a backup that does not recover', async () => {
    const place = join(home, 'broken');
    const broken = rewrite('broken.tgz', 'global/pg_control', 'global/pg_cantrol');
    expect(await restoreIn(place, broken, '--accept-unsigned')).toMatchObject(refusal(/cannot be restored/));
    expect(await filesIn(place)).toEqual([]);
  });
});

describe('R-90 a restore of an altered file', () => {
  it('runs no program that its settings name, even when the operator accepts the file', async () => {
    const trace = join(home, 'ran');
    const marker = '# Do not edit this file manually!\n# It will be overwritten by the ALTER SYSTEM command.\n';
    const setting = `archive_mode=on\narchive_command='touch ${trace}'\n`;
    const altered = rewrite('settings.tgz', marker, setting.padEnd(marker.length));
    const place = join(home, 'accepted');
    const { status, json } = await restoreIn(place, altered, '--accept-unsigned', '--json');
    expect({ status, isSigned: json.is_signed }).toEqual({ status: 0, isSigned: false });
    expect(readFileSync(join(json.data, 'postgresql.auto.conf'), 'utf8')).not.toContain('archive_command');
    await expect(stat(trace)).rejects.toThrow();
    await rm(json.data, { recursive: true });
  });
});

describe('R-90 an encrypted backup', () => {
  it('opens only with the identity of its recipient, and is signed as well', async () => {
    const identity = await generateIdentity();
    const identityFile = join(home, 'identity.txt');
    writeFileSync(identityFile, `# made for this test\n${identity}\n`);
    const strangerFile = join(home, 'stranger.txt');
    writeFileSync(strangerFile, await generateIdentity());
    const sealed = join(home, 'carillon.tgz.age');
    const made = await runIn(dataDir, 'backup', sealed, '--recipient', await identityToRecipient(identity), '--json');
    expect(made).toMatchObject({ status: 0, stderr: '' });
    expect(made.json).toMatchObject({ is_encrypted: true });
    expect(readFileSync(sealed).includes('carillon-backup.json')).toBe(false);

    const place = join(home, 'opened');
    expect(await restoreIn(place, sealed)).toMatchObject(refusal(/is encrypted: say --identity FILE/));
    expect(await restoreIn(place, sealed, '--identity', strangerFile)).toMatchObject(refusal(/no identity matched/));
    const { status, json } = await restoreIn(place, sealed, '--identity', identityFile, '--json');
    expect({ status, isSigned: json.is_signed }).toEqual({ status: 0, isSigned: true });
    await rm(json.data, { recursive: true });
  });

  it('is refused for an invalid recipient', async () => {
    const target = join(home, 'nobody.tgz');
    expect(await runIn(dataDir, 'backup', target, '--recipient', 'age1nobody')).toMatchObject(
      refusal(/age1nobody is no age recipient/),
    );
    await expect(stat(target)).rejects.toThrow();
  });
});

describe('a backup that cannot be written', () => {
  it.each([
    [
      'in a folder that is not there',
      () => join(home, 'nowhere/b.tgz'),
      /b\.tgz cannot be written: the folder .* does not exist/,
    ],
    ['below a file', () => join(file, 'b.tgz'), /b\.tgz cannot be written: .*carillon\.tgz is no folder/],
    ['over a file that is there', () => file, /carillon\.tgz exists already/],
  ])('%s ends at once and leaves no connection, slot or file', async (_where, target, words) => {
    expect(await runIn(dataDir, 'backup', target())).toMatchObject(refusal(words));
    expect(await leftOf(database)).toEqual({ connections: 0, slots: 0 });
    expect((await readdir(home)).filter((name) => name.includes('unfinished'))).toEqual([]);
  });

  it("on a full disk ends with the system's error", async () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    const target = new Writable({ write: (_chunk, _encoding, done) => done(full) });
    const options = {
      url: database.adminUrl,
      clusterDir: made.clusterDir,
      masterKey: Buffer.alloc(32, 1),
      recipient: undefined,
    };
    await expect(backUp({ ...options, target })).rejects.toThrow('no space left on device');
    expect(() => asBackupError('/backups/b.tgz')(full)).toThrow('/backups/b.tgz cannot be written: the disk is full');
    while ((await leftOf(database)).connections > 0);
    expect(await leftOf(database)).toEqual({ connections: 0, slots: 0 });
  });
});

describe('a backup while the service is stopped', () => {
  it('whose database does not start says so, and leaves no partial file', async () => {
    const place = join(home, 'broken');
    const { json } = await restoreIn(place, file, '--json');
    appendFileSync(join(json.data, 'postgresql.conf'), 'no_such_setting = on\n');
    const refused = await cli.runWith(
      { DATABASE_URL: '', MASTER_KEY: masterKey(), DATA_DIR: place },
      'backup',
      join(home, 'of-broken.tgz'),
    );
    expect(refused).toMatchObject(refusal(/^PostgreSQL does not start on .*no_such_setting/));
    expect((await readdir(home)).filter((name) => name.startsWith('of-broken'))).toEqual([]);
    await rm(json.data, { recursive: true });
  });

  it('that is ended by SIGTERM leaves no database server and no partial file', async () => {
    const place = join(home, 'stopped');
    const { json } = await restoreIn(place, file, '--json');
    const target = join(home, 'broken-off.tgz');
    const child = spawn(process.execPath, programArguments('backup', target), {
      cwd: home,
      env: { PATH: process.env['PATH'], DATA_DIR: place, MASTER_KEY: masterKey() },
      stdio: 'ignore',
    });
    const ended = once(child, 'exit');
    const hasBegun = async () => (await readdir(home)).some((name) => name.startsWith('broken-off.tgz.unfinished'));
    while (!(await hasBegun()));
    while (!(await filesIn(json.data)).includes('postmaster.pid'));
    child.kill('SIGTERM');
    expect(await ended).toEqual([143, null]);
    expect(await filesIn(json.data)).not.toContain('postmaster.pid');
    expect((await readdir(home)).filter((name) => name.startsWith('broken-off'))).toEqual([]);
    await rm(json.data, { recursive: true });
  });
});
