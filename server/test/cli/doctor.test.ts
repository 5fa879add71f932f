import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { beforeAll, describe, expect, it } from 'vitest';
import { breakIndex, durable, reportSettings } from '../../../packages/postgres/test/database.ts';
import { certificateFile, keyFile } from '../../../rig/src/certificate.ts';
import { whenDone } from '../../../rig/src/when-done.ts';
import { loadInstance } from '../../src/ground/database/instance.ts';
import { createSeal, parseMasterKey } from '../../src/ground/secrets/seal.ts';
import { mintUuid } from '../../src/ground/values/ids.ts';
import { listPartitions } from '../../src/sending/delivery/partitions.ts';
import { saveCredential } from '../../src/teams/apps/credentials.ts';
import { setup } from '../setup.ts';
import { setupCommandLine } from './run-carillon.ts';

const cli = await setupCommandLine();
const url = { PUBLIC_URL: 'https://carillon.test.example' };

interface Check {
  readonly check: string;
  readonly verdict: string;
  readonly message: string;
  readonly details?: Record<string, never>;
}

async function examine(environment: Record<string, string> = {}) {
  const { status, json, stderr } = await cli.runWith({ ...url, ...environment }, 'doctor', '--json');
  const checks = new Map((json.checks as Check[]).map((one) => [one.check, one]));
  return { status, stderr, verdict: json.verdict as string, of: (name: string) => checks.get(name) };
}

beforeAll(async () => {
  await reportSettings({ url: cli.environment['DATABASE_URL'] ?? '', sql: cli.sql }, durable);
  await loadInstance(cli.sql, createSeal(parseMasterKey(cli.environment['MASTER_KEY'] ?? '', 'MASTER_KEY')));
});

describe('doctor', () => {
  it('finds no fault in a new service, reports each check, and ends with 0', async () => {
    const { status, verdict, stderr, of } = await examine();
    // The server has other databases, whose connections this test cannot control.
    const isCrowded = of('connections')?.verdict === 'warn';
    expect([status, verdict, stderr]).toEqual([0, isCrowded ? 'warn' : 'ok', '']);
    for (const check of [
      ...[
        'public address',
        'way to the database',
        'files',
        'database',
        'role',
        'clock',
        'disk',
        'cluster',
        'schema',
        'partitions',
        'pause',
      ],
      ...['slots', 'identity proofs', 'proxies', 'credentials', 'outbound'],
    ]) {
      expect({ check, found: of(check) }).toMatchObject({ check, found: { verdict: 'ok' } });
    }
    const { stdout } = await cli.runWith(url, 'doctor');
    expect(stdout.split('\n')[0]).toMatch(/^CHECK +VERDICT +WHAT TO DO$/);
  });

  it('warns and ends with 0 while nothing is broken yet', async () => {
    const { status, verdict, of } = await examine({ HOST: '0.0.0.0', PUBLIC_URL: '' });
    expect([status, verdict, of('public address')?.verdict]).toEqual([0, 'warn', 'warn']);
  });

  it('warns of an app with users and no identify secret, and of devices that strangers may have made up', async () => {
    const { id, publicId } = await cli.newApp('Open');
    await cli.sql`
      INSERT INTO users (app_id, id, external_id, properties) VALUES (${id}, ${mintUuid()}, 'u-1', '{}')`;
    const longAgo = Date.now() - 8 * 24 * 3_600_000;
    await cli.sql`
      INSERT INTO devices (app_id, id, platform, token, token_hint, token_hash, status, registered_at, by_client)
      SELECT ${id}, d.id, 'ios', d.id, 'hint', sha256(d.id::text::bytea), 'active', now(), true
      FROM unnest(${Array.from({ length: 100 }, () => mintUuid(longAgo))}::uuid[]) AS d (id)`;
    const { status, of } = await examine();
    expect(status).toBe(0);
    expect(of('identity')).toMatchObject({ verdict: 'warn', message: expect.stringMatching(/\(Open\): any visitor/) });
    expect(of('devices')).toMatchObject({
      verdict: 'warn',
      message: expect.stringContaining(`${publicId}: 100, `),
    });
    const secret = await cli.run('identify-secret', 'rotate', 'Open');
    expect(secret.status).toBe(0);
    await cli.run('device', 'purge', 'Open', '--never-reached', '--older-than', '7');
    const after = await examine();
    expect([after.of('identity')?.verdict, after.of('devices')?.verdict]).toEqual(['ok', 'ok']);
  });

  it('reports that the database is unreachable', async () => {
    const { status, of } = await examine({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    expect([status, of('database')?.verdict]).toEqual([1, 'fail']);
    expect(of('database')?.message).toMatch(
      /^Nothing answers at 127\.0\.0\.1:1 .+ \(ECONNREFUSED\): start PostgreSQL there/,
    );
  });

  it('warns of a database whose server is not verified, and of files with secrets that others can read', async () => {
    const [host, code] = ['db.invalid', 'secret-in-the-address'];
    writeFileSync(join(cli.directory, '.env'), `METRICS_TOKEN=${'m'.repeat(32)}\n`, { mode: 0o644 });
    const remote = { DATABASE_URL: `postgres://u:${code}@${host}/d?sslmode=require` };
    const { of, stderr } = await examine(remote);
    rmSync(join(cli.directory, '.env'));
    expect(of('way to the database')).toMatchObject({ verdict: 'warn' });
    expect(of('way to the database')?.message).toMatch(/db\.invalid is encrypted, and the server is not verified/);
    expect(of('way to the database')?.message).toMatch(/sslmode=verify-full/);
    expect(of('files')).toMatchObject({ verdict: 'warn', details: { open: [{ mode: '0644' }] } });
    expect(of('files')?.message).toMatch(/\.env holds secrets .*chmod 600/);
    expect(JSON.stringify([stderr, of('way to the database'), of('files'), of('database')])).not.toContain(code);
  });

  it('finds a pause, commits that do not wait for the disk, and missing partitions', async () => {
    const database = new URL(cli.url).pathname.slice(1);
    await cli.run('pause');
    await cli.sql.unsafe(`ALTER DATABASE ${database} SET synchronous_commit = off`);
    const partitions = await listPartitions(cli.sql);
    const last = partitions.at(-1)?.name ?? '';
    const next = partitions.at(2)?.name ?? '';
    await cli.sql.unsafe(`DROP TABLE ${last}`);
    const first = await examine();
    expect(first.of('pause')).toMatchObject({ verdict: 'warn' });
    expect(first.of('database')).toMatchObject({ verdict: 'warn' });
    expect(first.of('partitions')).toMatchObject({ verdict: 'warn', details: { missing: [last] } });
    expect(first.status).toBe(0);
    await cli.sql.unsafe(`DROP TABLE ${next}`);
    const second = await examine();
    expect(second.of('partitions')).toMatchObject({ verdict: 'fail' });
    expect(second.of('partitions')?.message).toContain(next);
    expect([second.status, second.stderr]).toEqual([1, 'carillon: Not in order: partitions\n']);
    await cli.sql.unsafe(`ALTER DATABASE ${database} RESET synchronous_commit`);
    await cli.run('resume');
    await cli.json('migrate');
  });

  it('shows the slot of each key, says when slots run out, and finds a broken index', async () => {
    const { id, publicId } = await cli.newApp('Slots');
    for (let i = 1; i <= 11; i++)
      await cli.sql`
      INSERT INTO properties (app_id, id, key, type, slot)
      VALUES (${id}, ${i}, ${`flag_${i}`}, 'boolean', ${i <= 10 ? i : null})`;
    const healthy = (await examine()).of('slots');
    expect(healthy).toMatchObject({
      verdict: 'ok',
      details: { in_slots: 10, beyond: 1, moving: 0, full: [`boolean of ${publicId}`] },
    });
    expect((healthy?.details as { assignment?: unknown } | undefined)?.assignment).toContainEqual({
      app_id: publicId,
      key: 'flag_10',
      type: 'boolean',
      slot: 10,
      indexed: false,
      move: null,
    });
    await cli.sql`
      INSERT INTO field_uses (app_id, field, previews, last_preview_at)
      VALUES (${id}, 'properties.flag_11', 3, now())`;
    const used = (await examine()).of('slots');
    expect(used).toMatchObject({
      verdict: 'warn',
      message: expect.stringContaining(`(flag_11 of ${publicId}): delete`),
    });
    await cli.sql`UPDATE properties SET slot = NULL WHERE app_id = ${id} AND key = 'flag_10'`;
    expect((await examine()).of('slots')?.message).toContain(`(flag_11 of ${publicId}): a worker`);
    await cli.sql`UPDATE properties SET slot = 10 WHERE app_id = ${id} AND key = 'flag_10'`;
    await cli.sql`
      INSERT INTO field_uses (app_id, field, previews, last_preview_at)
      VALUES (${id}, 'properties.flag_1', 3, now()), (${id}, 'device.created_at', 3, now())`;
    expect((await examine()).of('slots')).toMatchObject({
      details: {
        indexes_max: 24,
        without_index: [{ app_id: publicId, field: 'properties.flag_1', reason: 'few_devices' }],
      },
    });
    await cli.sql`CREATE INDEX audience_by_bool_01 ON audience (app_id, bool_01)`;
    await breakIndex(cli.sql, 'audience_by_bool_01');
    expect((await examine()).of('slots')).toMatchObject({ verdict: 'warn', message: expect.stringMatching(/broken/) });
    await cli.sql`DROP INDEX audience_by_bool_01`;
    await cli.sql`DELETE FROM properties WHERE app_id = ${id}`;
    await cli.sql`DELETE FROM field_uses WHERE app_id = ${id}`;
  });

  it('connects to the push services of the set channels, and opens their credentials with the master key', async () => {
    const { id } = await cli.newApp('Channels');
    const seal = createSeal(parseMasterKey(cli.environment['MASTER_KEY'] ?? '', 'MASTER_KEY'));
    const deps = { ...cli, seal };
    await saveCredential(deps, { appId: id, channel: 'fcm', public: { projectId: 'p' }, secret: 'secret' });
    const server = createServer({ cert: readFileSync(certificateFile), key: readFileSync(keyFile) });
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    whenDone(async () => void server.close());
    const { port } = server.address() as { port: number };
    const settings = {
      FCM_URL: 'https://push.test.example',
      FCM_TOKEN_URL: 'https://push.test.example/token',
      OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
      OUTBOUND_RESOLVE: `push.test.example:443=127.0.0.1:${port}`,
      OUTBOUND_CA_FILE: certificateFile,
    };
    const reached = await examine(settings);
    expect(reached.of('outbound')).toMatchObject({ verdict: 'ok' });
    expect(reached.of('credentials')).toMatchObject({ verdict: 'ok' });

    const lost = await examine({ ...settings, OUTBOUND_RESOLVE: 'push.test.example:443=127.0.0.1:1' });
    expect(lost.of('outbound')).toMatchObject({ verdict: 'fail' });
    expect(lost.of('outbound')?.message).toContain('push.test.example:443: connect_error');
    const stranger = await examine({ ...settings, MASTER_KEY: randomBytes(32).toString('base64') });
    expect(stranger.of('credentials')).toMatchObject({ verdict: 'fail' });
    expect(stranger.status).toBe(1);

    await cli.sql`UPDATE credentials SET state = 'failing' WHERE app_id = ${id}`;
    expect((await examine(settings)).of('credentials')).toMatchObject({ verdict: 'warn' });
    await cli.sql`DELETE FROM credentials WHERE app_id = ${id}`;
  });

  it('names the peer whose X-Forwarded-For was ignored, until TRUSTED_PROXIES names it; the log does at the first request', async () => {
    const lines: string[] = [];
    const t = await setup({
      workers: false,
      environment: { LOG_LEVEL: 'warn' },
      logTo: { write: (line) => void lines.push(line) },
    });
    const forwarded = { headers: { 'x-forwarded-for': '198.51.100.7' } };
    await t.request('GET', '/healthz', forwarded);
    await t.request('GET', '/healthz', forwarded);
    const look = async (more = {}) => (await examine({ ...t.environment, ...more })).of('proxies');
    await expect.poll(async () => (await look())?.verdict).toBe('warn');
    expect((await look())?.message).toMatch(/127\.0\.0\.1.*TRUSTED_PROXIES/);
    expect(await look({ TRUSTED_PROXIES: '127.0.0.0/8' })).toMatchObject({ verdict: 'ok' });
    expect(lines.filter((line) => line.includes('X-Forwarded-For'))).toHaveLength(1);
  });

  it('reads no table of a schema that is not up to date', async () => {
    await cli.sql`DELETE FROM schema_migrations WHERE name = (SELECT max(name) FROM schema_migrations)`;
    const { status, of } = await examine();
    expect([status, of('schema')?.verdict, of('slots')]).toEqual([1, 'fail', undefined]);
    expect(of('schema')?.message).toContain('carillon migrate');
  });
});
